#pragma once

#include "oracle/sample.hpp"
#include "oracle_profiled/row_work.hpp"

#include <cstddef>
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
/// regimes weighted by one over the squared distance, so that a point of its own has its own value.
class AttentionSlowdown {
 public:
  struct Point {
    double u, v;   ///< sequences and mean attended tokens, or query tokens and KV tokens
    double ratio;  ///< sustained ÷ cool
  };
  AttentionSlowdown() = default;
  explicit AttentionSlowdown(const std::vector<Point>& points);

  bool empty() const { return count_ == 0; }
  double factor(double u, double v) const;
  double mean() const;

 private:
  /// Logarithms; places without a point are so far away that they weigh nothing.
  struct Four {
    double u[4] = {1e20, 1e20, 1e20, 1e20}, v[4] = {}, ratio[4] = {};
  };
  std::vector<Four> fours_;
  std::size_t count_ = 0;
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
