#include "synthetic_measurer.hpp"

#include "oracle/operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dooly::profiling {
namespace {

constexpr double kUnits = 132, kFlopsPerUnit = 989e12 / kUnits * 0.8, kBandwidth = 4.8e12 * 0.85, kStart = 2.5e-6;

double d(std::uint64_t value) { return static_cast<double>(value); }

std::uint64_t attribute(const oracle::OperatorKey& key, const char* name) {
  const auto found = key.attributes.find(name);
  return found == key.attributes.end() ? 0 : static_cast<std::uint64_t>(std::get<std::int64_t>(found->second));
}

/// The best of three tile shapes, each in whole waves over the device.
double product(double m, double k, double n, double weight_bytes, double slower) {
  struct Tile {
    double m, n, efficiency;
  };
  double best = 1e9;
  for (const Tile& tile : {Tile{64, 64, 0.6}, Tile{128, 128, 0.85}, Tile{128, 256, 1.0}}) {
    const double waves = std::ceil(std::ceil(m / tile.m) * std::ceil(n / tile.n) / kUnits);
    best = std::min(best, waves * 2 * tile.m * tile.n * k / (kFlopsPerUnit * tile.efficiency) * slower);
  }
  return kStart + std::max(best, (weight_bytes + 2 * m * (k + n)) / kBandwidth);
}

double rows(double bytes) { return kStart + std::sqrt(std::pow(bytes / kBandwidth, 2) + std::pow(0.3e-6, 2)); }

double decodes(const oracle::OperatorKey& key, const oracle::SamplePoint& point) {
  const std::uint64_t window = attribute(key, "window");
  const auto reach = [&](std::uint64_t context) { return d(window > 0 ? std::min(window, context + 1) : context + 1); };
  const double n = d(point[3]), many = d(std::min(point[5], point[3]));
  if (n == 0) return 0;
  const double mean = ((n - many) * reach(point[4]) + many * reach(point[6])) / n;
  const double longest = std::max(reach(point[4]), many > 0 ? reach(point[6]) : 0);
  const double token_bytes = 4 * d(key.dims[1]) * d(key.dims[2]);
  const double busy = std::min(1.0, n * d(key.dims[1]) * std::max(1.0, mean / 1024) / kUnits);
  const double tail = longest > mean ? 0.15 * (longest - mean) * token_bytes / kBandwidth * std::sqrt(n) : 0;
  return n * mean * token_bytes / (kBandwidth * (0.25 + 0.75 * busy)) + n * 4e-9 + tail;
}

/// Tiles of 128 queries a head: the device shares them, the last one takes the longest.
double prefills(const oracle::OperatorKey& key, const oracle::SamplePoint& point, double slower) {
  const std::uint64_t window = attribute(key, "window");
  const auto kind = window > 0 ? oracle::AttentionKind::kSlidingWindow : oracle::AttentionKind::kFull;
  const auto reach = static_cast<std::uint32_t>(window);
  if (point[0] == 0) return 0;
  const std::uint64_t padded = (point[1] + 127) / 128 * 128;
  const std::uint64_t last = std::min<std::uint64_t>(padded, 128);
  const double pair_s = 4 * d(key.dims[2]) / (kFlopsPerUnit * 0.7) * slower;
  const double all = d(point[0]) * d(key.dims[0]) * oracle::attended_pairs(kind, reach, point[2], padded) * pair_s;
  const double longest = oracle::attended_pairs(kind, reach, point[2] + padded - last, last) * pair_s;
  return std::sqrt(std::pow(all / kUnits, 2) + std::pow(longest, 2));
}

double attention(const oracle::OperatorKey& key, const oracle::SamplePoint& point, double slower) {
  const double a = prefills(key, point, slower), b = decodes(key, point);
  return kStart + 1.5e-6 + std::pow(std::pow(a, 1.3) + std::pow(b, 1.3), 1 / 1.3);
}

double experts(const oracle::OperatorKey& key, const oracle::SamplePoint& point, double slower) {
  const double hidden = d(key.dims[0]), width = d(key.dims[1]), count = d(key.dims[2]), top_k = d(key.dims[3]);
  const double skew = point[2] == 0 ? 1 : point[2] == 1 ? 0.75 : 0.55;  // of experts that are hit
  const double hit = count * skew * (1 - std::pow(1 - top_k / (count * skew), d(point[0])));
  const double per_expert = std::ceil(d(point[0]) * top_k / hit / 64) * 64;
  return product(per_expert * hit, hidden, 3 * width, hit * 3 * hidden * width * 2, slower) + kStart;
}

}  // namespace

oracle::Environment SyntheticMeasurer::environment() {
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "synthetic";
  environment.libraries = libraries;
  return environment;
}

bool SyntheticMeasurer::supports(const oracle::OperatorKey& key, std::string& why) {
  if (key.kind != "mla_attention") return true;
  why = "no latent attention on this device";
  return false;
}

double SyntheticMeasurer::law(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                              oracle::ClockRegime regime) {
  const double slower = regime == oracle::ClockRegime::kSustained ? 1.3 : 1;
  if (key.kind == "linear") {
    const double k = d(key.dims[0]), n = d(key.dims[1]);
    return product(d(point[0]), k, n, 2 * k * n, slower);
  }
  if (key.kind == "attention") return attention(key, point, slower);
  if (key.kind == "moe_experts") return experts(key, point, slower);
  if (key.kind == "embedding")
    return point[0] <= 16 ? 1.2e-6 + 0.4e-6 * d(point[0]) : 1.5e-6 + 4 * d(point[0] * key.dims[1]) / kBandwidth;
  double width = 1;
  for (const std::uint64_t dim : key.dims) width += d(dim);
  return rows(d(point[0]) * width * 6);
}

bool SyntheticMeasurer::renew() {
  ++process_;
  return !processes.empty();
}

oracle::Sample SyntheticMeasurer::measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                                          oracle::ClockRegime regime) {
  oracle::Sample sample;
  sample.point = point;
  sample.regime = regime;
  ++measured_;
  now_ += 0.02;
  if (before) before(key, sample);
  if (sample.status != oracle::SampleStatus::kOk) return sample;
  const double time = law(key, point, regime) * (1 + noise_ * std::normal_distribution<double>()(random_)) +
                      (processes.empty() ? 0 : processes[process_ % processes.size()]);
  if (key.kind == "embedding") sample.kernels = {point[0] <= 16 ? "small" : "large"};
  sample.count = 20;
  sample.kernel_family = kernel_family;
  sample.median_s = sample.mean_s = sample.min_s = sample.p10_s = sample.p90_s = time;
  sample.std_s = noise_ * time;
  now_ += 60 * time;
  return sample;
}

}  // namespace dooly::profiling
