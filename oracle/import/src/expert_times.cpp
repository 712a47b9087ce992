#include "expert_times.hpp"

#include "oracle/efficiency.hpp"
#include "oracle/physical_limit.hpp"

#include <algorithm>

namespace dooly::import_ {
namespace {

using oracle::OperatorKey;
using oracle::Sample;

oracle::DType compute_dtype(const std::string& weight) {
  return weight.starts_with("fp8") || weight == "int8" ? oracle::DType::kFp8 : oracle::DType::kBfloat16;
}

/// Times are in proportion to the coordinate beyond the points, and linear in it between them.
oracle::RowWork in_proportion() {
  oracle::RowWork work;
  work.memory_per_row = 1;
  return work;
}

}  // namespace

ExpertTimes::ExpertTimes(const OperatorKey& key, const std::vector<Sample>& samples, const oracle::Gpu& gpu)
    : experts_(key.dims.at(2)),
      top_k_(std::clamp<std::uint64_t>(key.dims.at(3), 1, key.dims[2])) {
  const oracle::Efficiency efficiency;
  if (const auto one_token = oracle::physical_work(key, {1})) {
    compute_per_token_ =
        one_token->flops / (oracle::peak_flops(gpu, compute_dtype(key.dtypes.at(1))) * efficiency.matrix);
    memory_per_expert_ = one_token->bytes / static_cast<double>(top_k_) / (gpu.memory_bandwidth * efficiency.memory);
  }
  std::vector<oracle::WorkCurve::Point> points;
  for (const Sample& sample : samples) {
    const bool is_balanced = sample.point[1] == 0 && sample.point[2] == 0;
    if (!is_balanced) continue;
    points.push_back({work(static_cast<double>(sample.point[0])), sample.median_s});
    most_tokens_ = std::max(most_tokens_, sample.point[0]);
  }
  curve_ = {std::move(points), in_proportion()};
}

double ExpertTimes::work(double tokens) const {
  const double in_use = std::min(static_cast<double>(experts_), tokens * static_cast<double>(top_k_));
  return oracle::Efficiency{}.kernel_seconds + in_use * memory_per_expert_ + computing(tokens);
}

double ExpertTimes::seconds(std::uint64_t tokens, std::uint64_t experts) const {
  const auto count = static_cast<double>(tokens);
  const double all = balanced_seconds(count);
  const std::uint64_t chosen = std::min(experts_, tokens * top_k_);
  if (experts >= chosen) return all;
  const double fewest = std::min(all, balanced_seconds(1) + computing(count) - computing(1));
  const double part = static_cast<double>(experts - top_k_) / static_cast<double>(chosen - top_k_);
  const double same_weights = balanced_seconds(static_cast<double>(experts) / static_cast<double>(top_k_));
  return std::max(fewest + (all - fewest) * part, same_weights);
}

}  // namespace dooly::import_
