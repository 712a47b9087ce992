#include "skew_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace dooly::import_ {
namespace {

using oracle::SamplePoint;

/// Upstream's buckets, as its own profiles list them.
std::string label(double value, std::initializer_list<std::pair<double, const char*>> edges, const char* beyond) {
  for (const auto& [edge, name] : edges)
    if (value <= edge) return name;
  return beyond;
}

std::string bucket_of(const SamplePoint& point) {
  const double n = static_cast<double>(point[3]), longer = static_cast<double>(point[5]);
  return fmt::format(
      "{},{},{},{},{}", point[1],
      label(n,
            {{2, "n<=2"},
             {4, "n<=4"},
             {8, "n<=8"},
             {16, "n<=16"},
             {32, "n<=32"},
             {64, "n<=64"},
             {128, "n<=128"},
             {256, "n<=256"}},
            "n>256"),
      label(longer / n, {{0.05, "sr<=5%"}, {0.15, "sr<=15%"}, {0.4, "sr<=40%"}, {0.7, "sr<=70%"}}, "sr>70%"),
      label(static_cast<double>(point[6]), {{1024, "kvB<=1k"}, {4096, "kvB<=4k"}, {16384, "kvB<=16k"}}, "kvB>16k"),
      label(static_cast<double>(point[2]),
            {{0, "kp=0"}, {512, "kp<=512"}, {1024, "kp<=1k"}, {2048, "kp<=2k"}, {4096, "kp<=4k"}, {8192, "kp<=8k"}},
            "kp>8k"));
}

constexpr const char* kBucketAxes =
    "  bucket_axes:\n    pc: raw pc value (profiled grid point)\n    n_bins: [0, 2, 4, 8, 16, 32, 64, 128, 256, "
    "1000000]\n"
    "    n_labels: [n<=2, n<=4, n<=8, n<=16, n<=32, n<=64, n<=128, n<=256, n>256]\n    skew_rate_bins: [-0.01, 0.05, "
    "0.15, 0.4, 0.7, 1.01]\n"
    "    skew_rate_labels: [sr<=5%, sr<=15%, sr<=40%, sr<=70%, sr>70%]\n    kv_big_bins: [0, 1024, 4096, 16384, "
    "1000000000]\n"
    "    kv_big_labels: [kvB<=1k, kvB<=4k, kvB<=16k, kvB>16k]\n    kp_bins: [-1, 0, 512, 1024, 2048, 4096, 8192, "
    "1000000000]\n"
    "    kp_labels: [kp=0, kp<=512, kp<=1k, kp<=2k, kp<=4k, kp<=8k, kp>8k]\n";

constexpr std::uint64_t kSkew = 4;  // of upstream's sweep: how many times longer the long decodes are
constexpr std::array kLongShares{0.0625, 0.125, 0.25, 0.5, 0.75, 0.9};

/// Decodes of upstream's sweep beside one chunk, or none of 0 tokens.
void add_decodes(std::vector<SamplePoint>& batches, std::uint64_t query, std::uint64_t context,
                 std::uint64_t most_decodes, std::uint64_t longest_context) {
  for (std::uint64_t n = 2; n <= std::min<std::uint64_t>(most_decodes, 256); n *= 2) {
    std::uint64_t last = 0;
    for (const double share : kLongShares) {
      const auto longer = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(n)));
      if (longer == last || longer >= n) continue;
      last = longer;
      for (std::uint64_t kv = 128; kv * kSkew <= std::min<std::uint64_t>(longest_context, 16384); kv *= 2)
        batches.push_back({query > 0 ? 1u : 0u, query, context, n, kv, longer, kv * kSkew});
    }
  }
}

}  // namespace

bool is_skewed(const oracle::Sample& sample) { return sample.point[0] <= 1 && sample.point[5] > 0; }

std::optional<double> SkewTimes::alpha() const {
  if (!(at_mean > 0) || !(at_longest > at_mean)) return std::nullopt;
  return (skewed - at_mean) / (at_longest - at_mean);
}

std::uint64_t mean_context(const SamplePoint& p) { return (p[4] * (p[3] - std::min(p[3], p[5])) + p[6] * p[5]) / p[3]; }

SamplePoint at_one_length(const SamplePoint& p, std::uint64_t context) { return {p[0], p[1], p[2], p[3], context}; }

void SkewFit::add(const SamplePoint& point, const SkewTimes& times) {
  const auto alpha = times.alpha();
  if (!alpha) return;
  const double gap = times.at_longest - times.at_mean;
  for (Bucket* bucket : {&all_, &buckets_[bucket_of(point)]})
    bucket->weighted += *alpha * gap * gap, bucket->weight += gap * gap, ++bucket->samples;
}

std::string SkewFit::csv(bool is_predicted) const {
  std::string text = "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples";
  text += is_predicted ? ",predicted_operators\n" : "\n";
  for (const auto& [name, bucket] : buckets_)
    text += fmt::format("{},{:.4f},{}{}\n", name, bucket.weighted / bucket.weight, bucket.samples,
                        is_predicted ? ",attention" : "");
  return text;
}

std::string SkewFit::meta(std::uint32_t tensor_parallel) const {
  return fmt::format(
      "    {}:\n      method: per_bucket_wls_5axis\n      n_samples: {}\n      alpha_default: {:.4f}\n      "
      "bucket_table: tp{}/skew_fit.csv\n",
      tensor_parallel, all_.samples, all_.weighted / all_.weight, tensor_parallel);
}

std::string SkewFit::head() {
  return std::string("skew_fit:\n  enabled: true\n").append(kBucketAxes).append("  per_tp:\n");
}

std::vector<SamplePoint> skew_sweep(std::uint64_t most_query, std::uint64_t most_decodes,
                                    std::uint64_t longest_context) {
  std::vector<SamplePoint> batches;
  add_decodes(batches, 0, 0, most_decodes, longest_context);
  for (std::uint64_t query = 16; query <= most_query; query *= 2)
    for (const std::uint64_t context : {0u, 512u, 1024u, 2048u, 4096u, 8192u})
      if (context <= longest_context) add_decodes(batches, query, context, most_decodes, longest_context);
  return batches;
}

}  // namespace dooly::import_
