#pragma once

#include "oracle/sample.hpp"
#include "oracle_profiled/row_work.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace dooly::oracle {

/// How many times longer an operator by rows takes at the sustained clock: between points measured in both regimes
/// linear in the logarithm of the rows, held beyond them. Below points that computing bounds alone, and without any,
/// what the platform says of computing and of reading decides by the operator's work. At least 1.
class RowSlowdown {
 public:
  RowSlowdown() = default;
  /// Without measured points: `computing`, `reading` as factors.
  RowSlowdown(double computing, double reading) : computing_(computing), reading_(reading) {}
  /// `ratio_by_rows`: sustained ÷ cool.
  void measured(const std::map<double, double>& ratio_by_rows, const RowWork& work);

  double factor(const RowWork& work, double rows) const;
  /// Of its computing: measured, else the platform's.
  double computing() const { return computing_; }

 private:
  struct Point {
    double rows, ratio;
  };
  std::vector<Point> points_;  // ascending
  double computing_ = 1, reading_ = 1;
};

/// The same of attention: by two coordinates of a batch in their logarithms, the mean of the points measured in both
/// regimes weighted by one over the squared distance; tabled at eight places an octave, and linear between them.
class AttentionSlowdown {
 public:
  struct Point {
    double u, v;   ///< sequences and mean attended tokens, or query tokens and KV tokens
    double ratio;  ///< sustained ÷ cool
  };
  AttentionSlowdown() = default;
  explicit AttentionSlowdown(const std::vector<Point>& points);

  bool empty() const { return count_ == 0; }
  /// `u` below 2^18, `v` below 2^22; held beyond.
  double factor(double u, double v) const {
    const Place i = place(u, kRows), j = place(v, kColumns);
    const float* below = &table_[i.node * (kColumns + 1) + j.node];
    const float* above = below + (kColumns + 1);
    const double low = below[0] + (below[1] - below[0]) * j.part;
    const double high = above[0] + (above[1] - above[0]) * j.part;
    return low + (high - low) * i.part;
  }
  double mean() const { return mean_; }

 private:
  static constexpr int kBits = 3;  ///< of the fraction: places an octave
  static constexpr int kShift = 52 - kBits;
  static constexpr double kCell = 1.0 / (std::uint64_t{1} << kShift);
  static constexpr std::size_t kRows = 18u << kBits, kColumns = 22u << kBits;  ///< cells
  struct Place {
    std::size_t node;
    double part;
  };
  /// Of 1 + x: exponent and first bits are the cell, the bits behind them lie in it.
  static Place place(double x, std::size_t cells) {
    const double most = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) + (std::uint64_t{cells} << kShift)) - 1;
    const auto at =
        std::bit_cast<std::uint64_t>(1 + std::max(0.0, std::min(x, most))) - std::bit_cast<std::uint64_t>(1.0);
    const std::size_t node = std::min<std::size_t>(at >> kShift, cells - 1);
    return {node, static_cast<double>(static_cast<std::int64_t>(at - (std::uint64_t{node} << kShift))) * kCell};
  }
  static double coordinate(std::size_t node);
  std::vector<float> table_;  // by u, then v
  std::size_t count_ = 0;
  double mean_ = 1;
};

/// Mean sustained ÷ mean cool time of each point that has both.
template <typename Point>
class SustainedOverCool {
 public:
  void add_cool(const Point& point, double seconds) { times_[point].cool.add(seconds); }
  void add_sustained(const Point& point, double seconds) { times_[point].sustained.add(seconds); }
  std::map<Point, double> ratios() const {
    std::map<Point, double> ratios;
    for (const auto& [point, both] : times_)
      if (both.cool.count > 0 && both.sustained.count > 0) ratios[point] = both.sustained.mean() / both.cool.mean();
    return ratios;
  }

 private:
  struct Times {
    double sum = 0;
    int count = 0;
    void add(double seconds) { sum += seconds, ++count; }
    double mean() const { return sum / count; }
  };
  struct Both {
    Times cool, sustained;
  };
  std::map<Point, Both> times_;
};

/// Of samples that are good and say their clock.
std::map<SamplePoint, double> sustained_over_cool(const std::vector<Sample>& samples);

}  // namespace dooly::oracle
