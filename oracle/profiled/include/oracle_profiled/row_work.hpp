#pragma once

#include "oracle/gpu.hpp"
#include "oracle/roofline_oracle.hpp"
#include "oracle_profiled/expert_tiles.hpp"

#include <cmath>

namespace dooly::oracle {

/// The least time of an operator by its rows (tokens, sequences or bytes): max(FLOPs ÷ peak, bytes ÷ bandwidth) + one
/// kernel. Grows strictly with the rows. Measured times are interpolated in it and extrapolated along it.
struct RowWork {
  double compute_per_row = 0;  ///< seconds
  double memory_per_row = 0;  ///< seconds
  double memory_fixed = 0;  ///< seconds: weights
  double fixed = 0;  ///< seconds: kernel start
  std::uint32_t experts = 0;  ///< more than 0: weights are read as far as tokens hit them
  std::uint32_t experts_per_token = 0;
  bool in_expert_tiles = false;  ///< the experts' rows come balanced, each expert's in tiles of ExpertTiles
  double tile = 1;  ///< rows that a matrix kernel computes at once at least: times are those of the next multiple

  /// Rows that a matrix kernel computes for `rows`. Tiles are 128 rows high once there are more than two of them;
  /// beyond 1,024 rows one tile more is no longer a wave more of the whole device.
  double tiled(double rows) const {
    if (tile <= 1 || rows > kSmoothRows) return rows;
    const double step = rows > 2 * kHighTile ? kHighTile : tile;
    return std::ceil(rows / step) * step;
  }
  static constexpr double kHighTile = 128, kSmoothRows = 1024;

  ExpertTiles expert_tiles() const { return {double(experts), double(experts_per_token)}; }
  double compute(double rows) const { return compute_per_row * rows; }
  double memory(double rows) const { return memory_fixed * weight_share(rows) + memory_per_row * rows; }
  double seconds(double rows) const { return std::max(compute(rows), memory(rows)) + fixed; }
  /// What grows as the time does between two sizes that were measured.
  double progress(double rows) const { return in_expert_tiles ? expert_tiles().progress(rows) : seconds(rows); }
  /// Time under a clock that makes computing `slowdown` times slower and reading `slowdown_memory` times ÷ time.
  double clock_factor(double rows, double slowdown, double slowdown_memory = 1) const;
  double weight_share(double rows) const;
};

/// Least number of rows that matrix kernels of tensor cores step by.
inline constexpr double kLinearTile = 16;

/// Of an operator with these figures, as the roofline oracle counts it.
RowWork row_work(const Gpu& gpu, const Efficiency& efficiency, DType compute, double flops_per_row, double weight_bytes,
                 double bytes_per_row);

}  // namespace dooly::oracle
