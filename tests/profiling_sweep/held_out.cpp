#include "held_out.hpp"

#include "oracle/cuda_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace dooly::profiling {
namespace {

class Draw {
 public:
  std::uint64_t log_uniform(double low, double high) {
    return static_cast<std::uint64_t>(
        std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random_)));
  }

 private:
  std::mt19937_64 random_{7};
};

oracle::SamplePoint attention_point(Draw& draw, const Operation& operation, const SweepLimits& limits, std::size_t i) {
  const std::uint64_t query = draw.log_uniform(32, limits.max_batched_tokens);
  const std::uint64_t context = draw.log_uniform(1, double(limits.max_context - query));
  const std::uint64_t decodes = draw.log_uniform(1, limits.max_sequences);
  const double most = std::min<double>(limits.max_context, double(limits.max_kv_tokens / 2) / double(decodes));
  const std::uint64_t before = draw.log_uniform(32, most);
  if (i % 3 == 0) return {0, 0, 0, decodes, before};
  if (i % 3 == 1 || !launches_together(operation.key)) return {1, query, i % 2 == 0 ? context : 0};
  return {1, std::min(query, limits.max_batched_tokens - decodes), i % 2 == 0 ? context : 0, decodes, before};
}

}  // namespace

std::vector<oracle::SamplePoint> served_points(const Operation& operation, const SweepLimits& limits,
                                               std::size_t count) {
  Draw draw;
  const oracle::CudaGraphs graphs(oracle::CudaGraphs::default_sizes(limits.max_sequences, limits.max_batched_tokens));
  std::vector<oracle::SamplePoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    if (operation.binding == oracle::Binding::kAttention) {
      points.push_back(attention_point(draw, operation, limits, i));
    } else {
      const auto tokens = static_cast<std::uint32_t>(draw.log_uniform(1, limits.max_batched_tokens));
      points.push_back({graphs.padded(tokens)});
      if (operation.binding == oracle::Binding::kExperts) points.back()[2] = i % 3;
    }
  }
  return points;
}

HeldOut errors_at(const Operation& operation, const std::vector<oracle::Sample>& samples,
                  const std::vector<oracle::SamplePoint>& points) {
  const SignatureFit fit(operation, samples, oracle::find_gpu("H200"));
  std::vector<double> errors;
  double off = 0, all = 0;
  for (const oracle::SamplePoint& point : points) {
    const double time = SyntheticMeasurer::law(operation.key, point, oracle::ClockRegime::kCool);
    errors.push_back(std::abs(fit.seconds(point) / time - 1));
    off += errors.back() * time;
    all += time;
  }
  std::sort(errors.begin(), errors.end());
  HeldOut out;
  out.by_time = off / all;
  for (const double error : errors) out.mean += error / double(errors.size());
  out.median = errors[errors.size() / 2];
  out.p90 = errors[errors.size() * 9 / 10];
  out.max = errors.back();
  return out;
}

HeldOut held_out(const Operation& operation, const std::vector<oracle::Sample>& samples, const SweepLimits& limits,
                 std::size_t count) {
  return errors_at(operation, samples, served_points(operation, limits, count));
}

Operation linear(std::uint64_t k, std::uint64_t n) {
  return operation_of(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, k, n), oracle::Binding::kTokens);
}
Operation norm(std::uint64_t hidden) {
  return operation_of(oracle::rms_norm_key("bfloat16", hidden, true), oracle::Binding::kTokens);
}
Operation embedding() {
  return operation_of(oracle::embedding_key("bfloat16", 151936, 4096), oracle::Binding::kTokens);
}
Operation attention(std::uint32_t window, const char* family) {
  return operation_of(oracle::attention_key("bfloat16", "bfloat16",
                                            {.heads = 32, .kv_heads = 8, .head_dim = 128, .window = window}, family),
                      oracle::Binding::kAttention);
}
Operation experts() {
  return operation_of(oracle::moe_experts_key("bfloat16", "bfloat16",
                                              {.hidden = 2048, .intermediate = 768, .local_experts = 128, .top_k = 8}),
                      oracle::Binding::kExperts);
}

}  // namespace dooly::profiling
