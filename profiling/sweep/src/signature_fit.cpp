#include "profiling_sweep/signature_fit.hpp"

#include "attention_points.hpp"
#include "oracle_profiled/attention_point.hpp"
#include "row_refiner.hpp"
#include "sample_view.hpp"

#include <cstdlib>
#include <set>

namespace dooly::profiling {

SignatureFit::SignatureFit(const Operation& operation, const std::vector<oracle::Sample>& samples,
                           const oracle::Gpu& gpu) {
  std::vector<oracle::Sample> usable;
  std::set<std::uint32_t> routings;
  for (const oracle::Sample& sample : samples) {
    if (!is_usable(sample) || sample.regime == oracle::ClockRegime::kSustained) continue;
    usable.push_back(sample);
    routings.insert(operation.binding == oracle::Binding::kExperts ? static_cast<std::uint32_t>(sample.point[2]) : 0);
  }
  points_ = usable.size();
  if (operation.binding == oracle::Binding::kAttention) {
    attention_.emplace(usable, attention_roofline(operation.key, gpu, {}), oracle::AttentionModel::Limits{});
    return;
  }
  if (routings.empty()) routings.insert(0);
  for (const std::uint32_t routing : routings) curves_[routing] = row_curve(operation, usable, routing, gpu);
}

double SignatureFit::seconds(const oracle::SamplePoint& point) const {
  if (attention_) return attention_at(*attention_, point).seconds;
  const auto wanted = static_cast<std::int64_t>(point[2]);
  const auto* best = &*curves_.begin();
  for (const auto& each : curves_)
    if (std::llabs(each.first - wanted) < std::llabs(best->first - wanted)) best = &each;
  return best->second.at(static_cast<double>(point[0])).seconds;
}

double SignatureFit::fold_error() const {
  if (attention_) return attention_->fold_error();
  double sum = 0;
  for (const auto& [routing, curve] : curves_) sum += curve.fold_error();
  return sum / static_cast<double>(curves_.size());
}

}  // namespace dooly::profiling
