#pragma once

#include "profiling_measure/measurer.hpp"
#include "profiling_sweep/operation.hpp"
#include "profiling_sweep/sample_archive.hpp"
#include "profiling_sweep/sweep.hpp"
#include "profiling_sweep/sweep_limits.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace dooly::profiling {

/// Random points to hold an operator's fit against: rows, batch sizes and contexts evenly in their logarithms, within
/// the limits. Of attention decodes, prompts with and without a context, both together where one launch runs them, and
/// decodes of two lengths, 4 : 4 : 3 : 2. The sequence is the same for the same signature and limits, so that more
/// points go on where fewer ended.
class HeldOutDraw {
 public:
  HeldOutDraw(const Operation& operation, const SweepLimits& limits);
  oracle::SamplePoint next();

 private:
  std::uint64_t number(std::uint64_t low, std::uint64_t high);
  std::uint64_t context(std::uint64_t sequences, std::uint64_t low, std::uint64_t high);
  oracle::SamplePoint rows();
  oracle::SamplePoint decodes();
  oracle::SamplePoint prefill();
  oracle::SamplePoint mixed();
  oracle::SamplePoint ragged();

  const Operation& operation_;
  SweepLimits limits_;
  std::mt19937_64 random_;
  std::size_t drawn_ = 0;
};

struct HeldOutReport {
  SweepReport::End end = SweepReport::End::kDone;
  std::size_t signatures = 0;     ///< that have held-out points now
  std::uint64_t points = 0, failed = 0;  ///< of this run
  double spent_s = 0;             ///< device time of this run
};

/// Measures points of `operations` apart, `count` of each that has samples in `fitted` (by signature, as a sweep left
/// them): none that is there, none beyond what failed. They go into `archive`, which fits nothing; what it holds
/// already counts. Of `settings` the limits, budget, most points, regimes and clock apply.
HeldOutReport measure_held_out(Measurer& measurer, SampleArchive& archive, const std::vector<Operation>& operations,
                               const SamplesBySignature& fitted, std::size_t count, const SweepSettings& settings,
                               SweepObserver* observer = nullptr);

}  // namespace dooly::profiling
