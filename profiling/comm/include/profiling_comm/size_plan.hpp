#pragma once

#include "oracle/gpu.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/row_work.hpp"
#include "profiling_comm/collective.hpp"

#include <cstdint>
#include <vector>

namespace dooly::profiling {

struct SizeLimits {
  std::uint64_t first = 256, last = std::uint64_t{1} << 30;  ///< bytes
  double target = 0.03;     ///< error of a left-out size that is small enough
  std::size_t max_points = 64;
};

/// Which message sizes of one collective are measured: powers of two; then between two sizes, wherever the curve that
/// predicts misses one of them when it is left out. NCCL changes its protocol and algorithm with the size, which are
/// knees and steps at places that nobody knows before. Follows from the samples alone, so that a stopped sweep goes on.
class SizePlan {
 public:
  SizePlan(const Collective& collective, const SizeLimits& limits, const oracle::Gpu& gpu);

  /// Sizes to measure now, ascending, none that is among the samples or cannot be had; empty: done.
  std::vector<std::uint64_t> next(const std::vector<oracle::Sample>& samples) const;
  /// Mean error of sizes that were left out, as the oracle states it.
  double fold_error(const std::vector<oracle::Sample>& samples) const;
  /// How many sizes it begins with.
  std::size_t first_count() const { return powers_.size(); }

 private:
  std::vector<std::uint64_t> between(const std::vector<oracle::Sample>& samples) const;

  Collective collective_;
  SizeLimits limits_;
  oracle::RowWork work_;
  std::vector<std::uint64_t> powers_;
};

}  // namespace dooly::profiling
