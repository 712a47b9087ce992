#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

/// One pass, timed as a whole and by operator.
struct PassTimes {
  struct Operator {
    double seconds = 0;
    std::vector<std::string> kernels;  ///< symbols, in order of launch, each once; a CPU has none
  };
  double seconds = 0;  ///< of the pass; what operators do not account for is between them
  std::vector<Operator> operators;  ///< in order of their calls
  /// Kernels that ran in no operator, and their seconds.
  std::map<std::string, double> outside;
};

/// Times a pass and the operators in it by one clock in one go, so that whatever else the machine does falls on both.
class PassClock {
 public:
  virtual ~PassClock() = default;
  /// Runs `pass` on this thread, in a TaintMode, untraced.
  virtual PassTimes time(const std::function<void()>& pass) = 0;
};

/// The steady clock. Time between operators is the host's: dispatch, modules, memory that is taken and given back.
std::unique_ptr<PassClock> make_cpu_clock();
/// Durations of kernels, copies and fills as CUPTI (loaded while running) records them on the device; gaps between
/// launches do not count. Throws ProfilingError without CUDA or CUPTI.
std::unique_ptr<PassClock> make_cuda_clock();

/// `passes` rounds (at least three, then no more after ten seconds of them) after one that warms up; means over the
/// faster half of them.
PassTimes time_passes(PassClock& clock, const std::function<void()>& pass, int passes = 12);

}  // namespace dooly::profiling
