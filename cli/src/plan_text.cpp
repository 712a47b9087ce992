#include "plan_text.hpp"

#include "text.hpp"

#include <fmt/format.h>
#include <cmath>
#include <set>
#include <variant>
#include <vector>

namespace dooly::cli {
namespace {

using oracle::Binding;
using oracle::PlanEntry;
using oracle::StepPlan;

std::string attribute_text(const std::string& name, const oracle::OperatorKey::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? name : "not " + name;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{} {}", name, *whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{} {}", name, *real);
  return fmt::format("{} {}", name, std::get<std::string>(value));
}

std::string types_text(const std::vector<std::string>& types) {
  std::string text;
  for (const std::string& type : types) {
    if (!text.empty()) text += ',';
    text += type;
  }
  const std::set<std::string> distinct(types.begin(), types.end());
  return distinct.size() == 1 ? types.front() : text;
}

std::string heading(const StepPlan& plan) {
  std::string text = fmt::format("{}: tp {}, pp {}, ep {}", plan.model, plan.tensor_parallel, plan.pipeline_parallel,
                                 plan.expert_parallel);
  if (plan.pipeline_parallel > 1) {
    const std::uint32_t layers = plan.dense_layers + plan.moe_layers;
    text += fmt::format(", stage {} (layers {} to {})", plan.stage, plan.first_layer, plan.first_layer + layers - 1);
  }
  text += fmt::format("; attention {}, {}, KV cache {} in blocks of {}\n", plan.backend, plan.dtype, plan.kv_dtype,
                      plan.block_size);
  return text;
}

std::string answer_text(const StepPlan& plan, const PlanEntry& entry, const StoreCoverage& coverage) {
  if (const std::uint64_t samples = coverage.samples(entry); samples > 0) return with_commas(samples);
  const std::string module = coverage.module_of(plan, entry);
  return module.empty() ? "-" : "in " + module;
}

std::string entries_text(const StepPlan& plan, const StoreCoverage* coverage) {
  std::vector<std::vector<std::string>> rows{
      {"count", "operator", "follows", "FLOPs/row", "weights B", "B/row", "signature"}};
  if (coverage != nullptr) rows.front().push_back("samples");
  rows.front().push_back("what");
  for (const PlanEntry& entry : plan.entries) {
    std::string follows(oracle::binding_name(entry.binding));
    if (entry.per_row) follows += " (rows)";
    if (entry.rows_per_token > 1) follows += fmt::format(" (x{})", entry.rows_per_token);
    std::string flops = scaled(entry.flops_per_token);
    if (entry.binding == Binding::kAttention && entry.decode_flops_per_pair != entry.flops_per_token)
      flops.append("/").append(scaled(entry.decode_flops_per_pair));
    rows.push_back({fmt::format("{}", entry.count), entry.name, follows, flops, scaled(entry.weight_bytes),
                    scaled(entry.bytes_per_token), entry.signature.hex().substr(0, 12)});
    if (coverage != nullptr) rows.back().push_back(answer_text(plan, entry, *coverage));
    rows.back().push_back(key_text(entry.key));
  }
  return table(rows);
}

std::string sums_text(const StepPlan& plan) {
  double flops = 0, row_flops = 0, weights = 0;
  for (const PlanEntry& entry : plan.entries) {
    weights += entry.count * entry.weight_bytes;
    const double all = entry.count * entry.flops_per_token * entry.rows_per_token;
    if (entry.binding == Binding::kLogitsRows) row_flops += all;
    if (entry.binding == Binding::kTokens || entry.binding == Binding::kExperts ||
        entry.binding == Binding::kPrefillTokens)  // decode tokens cost the same, absorbed
      flops += all;
  }
  return fmt::format(
      "{} parameters in {} layers; one GPU: {} FLOPs a token, {} a sampled row, attention apart; {}B of matrices; KV "
      "cache {} B a token\n",
      with_commas(plan.parameters), plan.dense_layers + plan.moe_layers, scaled(flops), scaled(row_flops),
      scaled(weights), with_commas(static_cast<std::uint64_t>(std::llround(plan.kv_bytes_per_token))));
}

std::string coverage_text(const StepPlan& plan, const StoreCoverage& coverage) {
  std::size_t own = 0, by_module = 0;
  std::set<std::string> lacking;
  for (const PlanEntry& entry : plan.entries) {
    if (coverage.samples(entry) > 0) {
      own += 1;
    } else if (!coverage.module_of(plan, entry).empty()) {
      by_module += 1;
    } else {
      lacking.insert(entry.name);
    }
  }
  std::string text = fmt::format("the store has samples of {} of {} operators", own + by_module, plan.entries.size());
  if (by_module > 0) text += fmt::format(", {} of them as part of a module", by_module);
  if (!lacking.empty()) {
    text.append("; none of: ").append(listed(std::vector<std::string>(lacking.begin(), lacking.end())));
  }
  return text + "\n";
}

}  // namespace

std::string scaled(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  if (value == 0) return "0";
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, prefix == 0 && value == std::floor(value) ? 0 : decimals);
  return text + kPrefixes[prefix];
}

std::string key_text(const oracle::OperatorKey& key) {
  std::string text = key.kind;
  for (std::size_t i = 0; i < key.dims.size(); ++i) text += fmt::format("{}{}", i == 0 ? " " : "x", key.dims[i]);
  text += fmt::format(" {} {}", types_text(key.dtypes), key.family);
  for (const auto& [name, value] : key.attributes) text.append(", ").append(attribute_text(name, value));
  return text;
}

std::string plan_text(const StepPlan& plan, const StoreCoverage* coverage) {
  std::string text = heading(plan) + entries_text(plan, coverage);
  for (const oracle::PlanModule& module : plan.modules) {
    text += fmt::format("{} x {} ({}) stands for: {}\n", module.count, module.name, key_text(module.key),
                        listed(module.replaces));
  }
  text += sums_text(plan);
  if (coverage != nullptr) text += coverage_text(plan, *coverage);
  return text;
}

}  // namespace dooly::cli
