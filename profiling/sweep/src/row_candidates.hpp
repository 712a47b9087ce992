#pragma once

#include "profiling_sweep/operation.hpp"
#include "profiling_sweep/sweep_limits.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace dooly::profiling {

/// Numbers of rows at which an operator may be measured, coarse to fine. Up to the largest captured size those that
/// CUDA graphs pad to, since no other occurs; beyond it edges of tiles, then what lies just behind an edge (a tile
/// more), then halves of tiles.
class RowCandidates {
 public:
  RowCandidates(const Operation& operation, const SweepLimits& limits);

  std::uint64_t largest() const { return largest_; }
  /// A handful over the whole range, the ends among them.
  const std::vector<std::uint64_t>& start() const { return start_; }
  /// Those of the coarse levels, ascending.
  const std::vector<std::uint64_t>& coarse() const { return coarse_; }
  /// Sizes of small batches, of matrix products each: measured whatever the curve looks like.
  const std::vector<std::uint64_t>& always() const { return always_; }
  /// The best one strictly between: of the coarsest level that has one, the nearest to the geometric mean.
  std::optional<std::uint64_t> between(std::uint64_t low, std::uint64_t high) const;

 private:
  void add_level(std::vector<std::uint64_t> level);

  std::uint64_t largest_ = 1;
  std::vector<std::uint64_t> start_, coarse_, always_;
  std::vector<std::vector<std::uint64_t>> levels_;  // each ascending
};

}  // namespace dooly::profiling
