#include "profiling_sweep/cost_model.hpp"

#include <algorithm>

namespace dooly::profiling {

void CostModel::add(const std::string& kind, double latency_s, double cost_s) {
  for (Sums* sums : {&by_kind_[kind], &all_}) {
    sums->n += 1;
    sums->x += latency_s;
    sums->y += cost_s;
    sums->xx += latency_s * latency_s;
    sums->xy += latency_s * cost_s;
  }
}

double CostModel::Sums::at(double latency_s) const {
  if (n == 0) return 0;
  const double spread = n * xx - x * x;
  double slope = spread > 1e-12 * n * xx ? (n * xy - x * y) / spread : 0;
  slope = std::max(0.0, slope);
  double start = (y - slope * x) / n;
  if (start < 0) {  // then it is all repetitions
    start = 0;
    slope = xx > 0 ? xy / xx : 0;
  }
  return start + slope * latency_s;
}

const CostModel::Sums& CostModel::of(const std::string& kind) const {
  const auto found = by_kind_.find(kind);
  return found != by_kind_.end() ? found->second : all_;
}

double CostModel::seconds(const std::string& kind, double latency_s) const { return of(kind).at(latency_s); }

double CostModel::mean(const std::string& kind) const {
  const Sums& sums = of(kind);
  return sums.n > 0 ? sums.y / sums.n : 0;
}

}  // namespace dooly::profiling
