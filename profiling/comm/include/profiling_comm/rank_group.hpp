#pragma once

#include "oracle/sample.hpp"
#include "profiling_comm/collective.hpp"
#include "profiling_measure/timer.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::profiling {

/// One collective at one size, readied to be timed: `launches` of it as one repetition.
struct CommWork {
  Collective collective;
  std::uint64_t bytes = 0;
  LaunchMode mode = LaunchMode::kBackToBack;
  std::uint32_t launches = 1;  ///< 1 if isolated
};

/// A rank ran out of memory, failed, died or gave no answer: the point is lost, and with it the group.
class RankFailure : public std::runtime_error {
 public:
  RankFailure(oracle::SampleStatus status, const std::string& what) : std::runtime_error(what), status_(status) {}
  oracle::SampleStatus status() const { return status_; }

 private:
  oracle::SampleStatus status_;
};

/// GPUs that run collectives together.
class RankGroup {
 public:
  virtual ~RankGroup() = default;
  /// Buffers, a first launch and, back to back, the graph. Returns whether launches follow each other without the host.
  /// Throws RankFailure.
  virtual bool prepare(const CommWork& work) = 0;
  /// Seconds of one launch, of the slowest rank, for each repetition. Throws RankFailure.
  virtual std::vector<double> run(std::uint32_t repetitions, DeviceReading& reading) = 0;
};

}  // namespace dooly::profiling
