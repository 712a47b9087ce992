#pragma once

#include "profiling_measure/measurer.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

namespace dooly::profiling {

using MeasurerFactory = std::function<std::unique_ptr<Measurer>()>;

/// A measurer in a process of its own, so that a device error that sticks, a crash or a hang costs one point: the point
/// becomes a sample of status kLaunchFailed whose note says what happened, and the next one gets a new process. The
/// factory runs in the child alone; this process must not have touched the device. The child ignores SIGINT and ends
/// with this process.
class WorkerMeasurer final : public Measurer {
 public:
  struct Settings {
    double seconds_per_point = 120;  ///< without an answer the child is killed
    /// Asked while waiting: true gives the point up (measure() throws Interrupted).
    std::function<bool()> gives_up = {};
  };
  /// Thrown by measure() when `gives_up` says so.
  struct Interrupted {};

  explicit WorkerMeasurer(MeasurerFactory factory);
  WorkerMeasurer(MeasurerFactory factory, Settings settings);
  ~WorkerMeasurer() override;
  WorkerMeasurer(const WorkerMeasurer&) = delete;
  WorkerMeasurer& operator=(const WorkerMeasurer&) = delete;

  /// Throws SweepError with the child's words if its measurer cannot be made.
  oracle::Environment environment() override;
  bool supports(const oracle::OperatorKey& key, std::string& why) override;
  oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                         oracle::ClockRegime regime) override;
  bool renew() override;
  unsigned restarts() const { return restarts_; }

 private:
  enum class Wait : std::uint8_t { kAnswered, kEnded, kTimedOut, kGivenUp };
  void start();
  /// Kills the child if it still runs; says how it ended.
  std::string stop();
  Wait ask(const std::string& question, std::string& answer);
  Wait read_line(std::string& line);
  std::string asked(const std::string& question);

  MeasurerFactory factory_;
  Settings settings_;
  pid_t child_ = -1;
  int socket_ = -1;
  std::string buffer_;
  unsigned restarts_ = 0;
  bool has_run_ = false;
};

}  // namespace dooly::profiling
