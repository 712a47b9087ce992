#include "cost_text.hpp"

#include "asked_oracle.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::cli {

using oracle::StepCost;

std::string cost_text(std::string_view batch, const StepCost& cost) {
  const double total = cost.device.total();
  const auto ms = [](double seconds) { return fmt::format("{:.4f} ms", seconds * 1e3); };
  const auto part = [&](double seconds) {
    return fmt::format("{} ({:.1f} %)", ms(seconds), total > 0 ? 100 * seconds / total : 0);
  };
  std::vector<std::vector<std::string>> rows = {
      {"batch", std::string(batch)},
      {"iteration", ms(iteration_seconds(cost)) + (total < iteration_seconds(cost) ? ", bound by its launch" : "")},
      {"device", fmt::format("{} ± {:.1f} %", ms(total), 100 * cost.stated_error)},
      {"  token operators", part(cost.device.token_ops)},
      {"  attention", part(cost.device.attention)},
      {"  collectives", part(cost.device.collective)},
      {"  other", part(cost.device.other) + (cost.device.other > 0 ? ", the sustained clock" : "")},
      {"  gaps", part(cost.device.gaps)},
      {"host", fmt::format("schedule {}, launch {} (first kernel after {}), sample {}, update {}, delivery {}",
                           ms(cost.host.until_launch()), ms(cost.host.launch), ms(cost.host.launch_lead),
                           ms(cost.host.sample), ms(cost.host.update), ms(cost.host.delivery))}};
  const auto share = [&](double seconds) { return total > 0 ? 100 * seconds / total : 0; };
  rows.push_back(
      {"from", fmt::format("measured {:.1f} %, interpolated {:.1f} %, extrapolated {:.1f} %, roofline {:.1f} %",
                           share(cost.provenance.measured), share(cost.provenance.interpolated),
                           share(cost.provenance.extrapolated), share(cost.provenance.roofline))});
  return table(rows);
}

std::string cost_json(const StepCost& cost, std::string_view id) {
  const double total = cost.device.total();
  const auto share = [&](double seconds) { return total > 0 ? std::min(1.0, seconds / total) : 0; };  // sums round
  return fmt::format(
      R"({{{}"device_s":{{"token_ops":{},"attention":{},"collective":{},"other":{}}},)"
      R"("host_s":{{"schedule":{},"launch":{},"launch_lead":{},"sample":{},"update":{},"delivery":{}}},)"
      R"("iteration_s":{},"provenance":{{"measured":{},"interpolated":{},"extrapolated":{},"roofline":{}}},)"
      R"("stated_error":{}}})",
      id.empty() ? "" : fmt::format(R"("id":{},)", id), cost.device.token_ops, cost.device.attention,
      cost.device.collective, cost.device.other + cost.device.gaps, cost.host.until_launch(), cost.host.launch,
      cost.host.launch_lead, cost.host.sample, cost.host.update, cost.host.delivery, iteration_seconds(cost),
      share(cost.provenance.measured), share(cost.provenance.interpolated), share(cost.provenance.extrapolated),
      share(cost.provenance.roofline), cost.stated_error);
}

std::string operators_text(const oracle::CompiledPlan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "times", "kind", "answered by", "points", "fold error", "note"}};
  for (const oracle::OperatorAnswer& each : plan.operators()) {
    const char* by = each.best == oracle::Origin::kMeasured       ? "its own samples"
                     : each.best == oracle::Origin::kInterpolated ? "neighbours"
                     : each.best == oracle::Origin::kExtrapolated ? "the nearest"
                                                                  : "roofline";
    rows.push_back({each.name, std::to_string(each.count), each.key.kind, by, std::to_string(each.points),
                    each.points > 2 ? fmt::format("{:.1f} %", 100 * each.fold_error) : "-", each.note});
  }
  return table(rows);
}

}  // namespace dooly::cli
