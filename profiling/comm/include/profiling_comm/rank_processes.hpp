#pragma once

#include "profiling_comm/rank_group.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Thrown when `gives_up` says so.
struct CommInterrupted {};

struct RankSettings {
  double start_s = 120;   ///< until a group is joined; loading NCCL on many GPUs takes its time
  double answer_s = 30;   ///< for one question afterwards
  std::function<bool()> gives_up = {};  ///< asked while waiting
};

/// A group of one process per GPU (rank i drives the i-th GPU that CUDA shows), started by fork: this process must not
/// have touched CUDA. The first rank makes NCCL's identifier, which is handed to the others. A rank that fails, dies or
/// gives no answer in time ends all of them. NVLink multicast is off, in this process's environment too. The processes
/// ignore SIGINT and end with this one.
class RankProcesses final : public RankGroup {
 public:
  /// Throws SweepError with the ranks' words if they cannot start, CommInterrupted.
  RankProcesses(std::uint32_t ranks, RankSettings settings);
  ~RankProcesses() override;
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  bool prepare(const CommWork& work) override;
  std::vector<double> run(std::uint32_t repetitions, DeviceReading& reading) override;
  /// Of the ranks in order, for tests.
  std::vector<pid_t> processes() const;

 private:
  struct Rank;
  struct Shared;
  void start(std::uint32_t rank);
  void join();
  std::vector<std::string> ask(const std::string& question, double seconds);
  std::vector<std::string> answers(double seconds, std::size_t first, std::size_t count);
  [[noreturn]] void fail(std::size_t rank, const std::string& answer);
  void stop();

  RankSettings settings_;
  std::unique_ptr<Shared> shared_;
  std::vector<Rank> ranks_;
};

}  // namespace dooly::profiling
