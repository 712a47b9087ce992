#include "oracle/kernel_times.hpp"

#include "efficiency_data.hpp"
#include "oracle/oracle_error.hpp"
#include "strict_json.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace dooly::oracle {
namespace {

/// Both products of experts, the activation between them and the weighted sum.
constexpr double kExpertKernels = 4;
constexpr double kMicrosecond = 1e-6;

constexpr std::array<std::string_view, kKernelKinds> kNames{"linear",    "linear_8", "experts", "experts_8",
                                                            "experts_4", "prefill",  "decode",  "elementwise"};

bool is_of_experts(std::size_t kind) {
  return kind >= static_cast<std::size_t>(KernelKind::kExperts) &&
         kind <= static_cast<std::size_t>(KernelKind::kExperts4);
}

TimeCurve curve_of(const nlohmann::json& pairs) {
  std::vector<TimeCurve::Knot> knots;
  for (const nlohmann::json& pair : pairs)
    knots.push_back({pair.at(0).get<double>() * kMicrosecond, pair.at(1).get<double>() * kMicrosecond});
  return TimeCurve(std::move(knots));
}

FittedCurve read_curve(const nlohmann::json& entry) {
  const auto name = entry.at("kind").get<std::string>();
  const auto* kind = std::find(kNames.begin(), kNames.end(), name);
  if (kind == kNames.end()) throw OracleError(fmt::format("efficiency table: kind: unknown, got '{}'", name));
  const auto share = [&](const char* member) -> std::optional<double> {
    const auto found = entry.find(member);
    return found == entry.end() ? std::nullopt : std::optional<double>(found->get<double>());
  };
  FittedCurve curve{.kind = static_cast<KernelKind>(kind - kNames.begin()),
                    .gpu = {},
                    .curve = curve_of(entry.at("ideal_us_time_us")),
                    .error_before = share("error_before"),
                    .error = share("error"),
                    .error_left_out = share("error_left_out")};
  if (const auto gpu = entry.at("gpu").get<std::string>(); !gpu.empty()) curve.gpu = find_gpu(gpu).name;
  return curve;
}

std::vector<FittedCurve> read_table() {
  const nlohmann::json table = parse_strictly(kEfficiencyData, "efficiency table");
  std::vector<FittedCurve> curves;
  for (const nlohmann::json& entry : table.at("curves")) curves.push_back(read_curve(entry));
  return curves;
}

}  // namespace

TimeCurve::TimeCurve(std::vector<Knot> knots) : knots_(std::move(knots)) {
  if (knots_.empty()) throw OracleError("time curve: has no knots");
  for (std::size_t i = 1; i < knots_.size(); ++i)
    if (!(knots_[i].ideal > knots_[i - 1].ideal) || !(knots_[i].seconds >= knots_[i - 1].seconds))
      throw OracleError(fmt::format("time curve: falls at knot {}", i));
  const Knot& first = knots_.front();
  const Knot& last = knots_.back();
  if (!(last.ideal > 0)) throw OracleError("time curve: has no knot above 0");
  lines_.push_back({first.ideal, 0, first.seconds, 0});
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& low = knots_[i - 1];
    const Knot& high = knots_[i];
    lines_.push_back({high.ideal, low.ideal, low.seconds, (high.seconds - low.seconds) / (high.ideal - low.ideal)});
  }
  lines_.push_back({std::numeric_limits<double>::quiet_NaN(), 0, 0, last.seconds / last.ideal});
}

KernelTimes KernelTimes::flat(const Efficiency& efficiency) {
  KernelTimes times;
  for (std::size_t kind = 0; kind < kKernelKinds; ++kind) {
    const bool attends =
        kind == static_cast<std::size_t>(KernelKind::kPrefill) || kind == static_cast<std::size_t>(KernelKind::kDecode);
    const double start = efficiency.kernel_seconds * (is_of_experts(kind) ? kExpertKernels : 1);
    times.rules_[kind] = {.compute_share = attends ? efficiency.attention : efficiency.matrix,
                          .memory_share = efficiency.memory,
                          .adds = false,
                          .curve = TimeCurve({{0, start}, {1, 1 + start}})};
  }
  return times;
}

KernelTimes KernelTimes::fitted(const Gpu& gpu) {
  if (is_processor(gpu)) return flat({});
  KernelTimes times;
  std::array<bool, kKernelKinds> own{};
  for (const FittedCurve& each : fitted_curves()) {
    const auto kind = static_cast<std::size_t>(each.kind);
    if (own[kind] || !(each.gpu.empty() || each.gpu == gpu.name)) continue;
    own[kind] = !each.gpu.empty();
    times.rules_[kind] = {.compute_share = 1, .memory_share = 1, .adds = is_of_experts(kind), .curve = each.curve};
  }
  return times;
}

double KernelTimes::ideal(KernelKind kind, double compute, double memory) const {
  const Rule& rule = of(kind);
  const double computing = compute / rule.compute_share, reading = memory / rule.memory_share;
  return rule.adds ? computing + reading : std::max(computing, reading);
}

const std::vector<FittedCurve>& fitted_curves() {
  static const std::vector<FittedCurve> curves = read_table();
  return curves;
}

std::string_view kernel_kind_name(KernelKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

}  // namespace dooly::oracle
