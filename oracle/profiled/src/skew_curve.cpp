#include "oracle_profiled/skew_curve.hpp"

#include <map>

namespace dooly::oracle {

void SkewCurve::fit(const std::vector<Point>& points, std::uint32_t max_decodes) {
  slopes_.clear();
  struct Sums {
    double products = 0, squares = 0;
    int count = 0;
  };
  std::map<double, Sums> by_decodes;
  for (const Point& p : points) {
    if (!(p.cv > 0)) continue;
    Sums& sums = by_decodes[p.decodes];
    sums.products += p.cv * p.excess;
    sums.squares += p.cv * p.cv;
    ++sums.count;
  }
  std::erase_if(by_decodes, [](const auto& entry) { return entry.second.count < 2; });
  if (by_decodes.empty()) return;
  std::map<double, double> nodes;
  for (const auto& [decodes, sums] : by_decodes) nodes[decodes] = std::max(0.0, sums.products / sums.squares);
  const auto last = static_cast<std::size_t>(std::max<double>(max_decodes, nodes.rbegin()->first));
  for (std::size_t n = 0; n <= last; ++n) {
    const auto above = nodes.lower_bound(static_cast<double>(n));
    if (above == nodes.end() || above == nodes.begin()) {
      slopes_.push_back(above == nodes.end() ? nodes.rbegin()->second : above->second);
      continue;
    }
    const auto below = std::prev(above);
    const double part = (static_cast<double>(n) - below->first) / (above->first - below->first);
    slopes_.push_back(below->second + (above->second - below->second) * part);
  }
}

}  // namespace dooly::oracle
