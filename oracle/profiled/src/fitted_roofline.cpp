#include "fitted_roofline.hpp"

#include <algorithm>

namespace dooly::oracle {
namespace {

constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;
constexpr std::uint64_t kLeastContext = 16, kStep = 4;

Sample sample_of(const SamplePoint& point, double seconds) {
  Sample sample;
  sample.point = point;
  sample.regime = ClockRegime::kCool;
  sample.median_s = seconds;
  return sample;
}

}  // namespace

WorkCurve fitted_roofline(const RowWork& work, const Efficiency& efficiency, const KernelTimes& times,
                          KernelKind kind) {
  std::vector<WorkCurve::Point> points;
  for (std::uint64_t rows = 1; rows <= kMostRows; rows *= 2) {
    const auto x = static_cast<double>(rows);
    points.push_back({x, times.seconds(kind, work.compute(x) * efficiency.matrix, work.memory(x) * efficiency.memory)});
  }
  WorkCurve curve(std::move(points), work);
  curve.relabel(Origin::kRoofline, kRooflineError);
  return curve;
}

std::vector<Sample> fitted_roofline(const AttentionRoofline& work, const Efficiency& efficiency,
                                    const KernelTimes& times, std::uint64_t most_decodes, std::uint64_t most_tokens) {
  std::vector<Sample> samples;
  const double read_s = work.token_s * efficiency.memory;
  for (std::uint64_t context = kLeastContext; context <= most_tokens; context *= kStep) {
    for (std::uint64_t n = 1; n <= most_decodes; n *= kStep) {
      const double tokens = static_cast<double>(n) * work.attended(static_cast<double>(context));
      samples.push_back(sample_of(
          {0, 0, 0, n, context},
          times.seconds(KernelKind::kDecode, tokens * work.decode_pair_s * efficiency.attention, tokens * read_s)));
    }
  }
  for (std::uint64_t query = kLeastContext; query <= most_tokens; query *= kStep) {
    for (const std::uint64_t context : {std::uint64_t{0}, query, kStep * query}) {
      for (const std::uint64_t chunks : {1, 4}) {
        const auto n = static_cast<double>(chunks), q = static_cast<double>(query), c = static_cast<double>(context);
        samples.push_back(
            sample_of({chunks, query, context},
                      times.seconds(KernelKind::kPrefill, n * work.pairs(q, c) * work.pair_s * efficiency.attention,
                                    n * work.kv_tokens(q, c) * read_s)));
      }
    }
  }
  return samples;
}

}  // namespace dooly::oracle
