#pragma once

#include <map>
#include <string>

namespace dooly::profiling {

/// What measuring a point costs, by what was paid: seconds = start + repetitions × latency, for each kind of operator,
/// fitted by least squares.
class CostModel {
 public:
  /// `cost_s`: for which the device was held.
  void add(const std::string& kind, double latency_s, double cost_s);
  /// A kind that was never paid for costs as the others. 0: nothing is known.
  double seconds(const std::string& kind, double latency_s) const;
  double mean(const std::string& kind) const;

 private:
  struct Sums {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    double at(double latency_s) const;
  };
  const Sums& of(const std::string& kind) const;
  std::map<std::string, Sums> by_kind_;
  Sums all_;
};

}  // namespace dooly::profiling
