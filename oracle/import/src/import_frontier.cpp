#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"
#include "vidur_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// GPU/MODEL/file.csv
VidurSetting setting_of(const ProfileFile& file, ImportContext& context) {
  std::string device = file.folder(1);
  if (const std::string below = file.below("compute"); !below.empty()) device = below;
  VidurSetting setting{.environment = environment_of(device, context.options, "frontier", file.path.string())};
  setting.dtype = asked_dtype(context.options, "", "float16");
  setting.kv_dtype = context.options.kv_dtype.empty() ? std::string() : dtype_word(context.options.kv_dtype);
  const bool hub_id = file.folder(0).find("--") != std::string::npos;
  setting.model = hub_id ? model_from_folder(file, 0) : file.folder(0);
  setting.config = model_if_known(context.options, setting.model);
  setting.environment_by_row = true;
  if (!setting.config)
    context.note(setting.model + ": not a known model: head_dim = n_embd / n_head taken; --model says more");
  context.collector.model(setting.model);
  return setting;
}

struct MoeRow {
  std::uint64_t tokens = 0, experts = 0, local = 0, top_k = 0, hidden = 0, width = 0;
};

/// Column of moe.csv -> operator.
oracle::OperatorKey moe_operator(const std::string& name, const std::string& dtype, const MoeRow& row) {
  const oracle::LinearTypes types{dtype, dtype, dtype};
  if (name == "moe_gating_linear") return oracle::linear_key(types, row.hidden, row.experts);
  if (name == "moe_gating_routing_topk")
    return oracle::topk_softmax_key(dtype, {.experts = row.experts, .top_k = row.top_k});
  if (name == "moe_grouped_gemm")
    return oracle::moe_experts_key(dtype, dtype,
                                   {.hidden = row.hidden,
                                    .intermediate = row.width,
                                    .local_experts = row.local,
                                    .top_k = row.top_k,
                                    .experts = row.local < row.experts ? row.experts : 0},
                                   "grouped-gemm");
  // Parts that no plan asks for alone: kept under their own names.
  return {.kind = name,
          .dtypes = {dtype},
          .dims = {row.hidden, row.width, row.local, row.top_k},
          .request_dims = {"m"},
          .attributes = {},
          .family = "frontier"};
}

void read_moe(const ProfileFile& file, ImportContext& context, const VidurSetting& setting) {
  constexpr std::array names{"moe_gating",       "moe_gating_linear",  "moe_gating_routing_topk", "moe_shuffling",
                             "moe_grouped_gemm", "moe_expert_up_proj", "moe_expert_down_proj"};
  CsvTable table(file.path);
  SampleCollector& collector = context.collector;
  const std::array columns{table.column("num_tokens"),
                           table.column("num_experts"),
                           table.column("num_experts_per_device"),
                           table.column("router_topk"),
                           table.column("hidden_dim"),
                           table.column("expert_hidden_dim"),
                           table.column("num_tensor_parallel_workers"),
                           table.column("expert_parallel_size")};
  const auto distribution = table.find("load_distribution"), precision = table.find("profiling_precision"),
             measurement = table.find("measurement_type");
  std::vector<std::pair<std::string, TimeStats>> operators;
  for (const char* name : names)
    if (const TimeStats stats(table, name); stats.present()) operators.emplace_back(name, stats);
  KeyCache cache;
  std::array<std::uint64_t, columns.size()> n{};
  while (table.next()) {
    collector.line(table.line());
    bool counted = true;
    for (std::size_t i = 0; counted && i < columns.size(); ++i) {
      const auto value = whole_number(table.cell(columns[i]));
      counted = value.has_value();
      if (counted)
        n[i] = *value;
      else
        collector.drop("not a count", fmt::format("{}={}", table.header()[columns[i]], table.cell(columns[i])));
    }
    if (!counted) continue;
    if (n[6] == 0) {
      collector.drop("not a count", "num_tensor_parallel_workers=0");
      continue;
    }
    if (distribution && !table.cell(*distribution).empty() && table.cell(*distribution) != "uniform") {
      collector.drop("routing that a point cannot hold", table.cell(*distribution));
      continue;
    }
    oracle::Environment environment = setting.environment;
    if (measurement && !table.cell(*measurement).empty())
      environment.source.append(" ").append(table.cell(*measurement));
    collector.environment(environment);
    const std::string dtype =
        asked_dtype(context.options, precision ? table.cell(*precision) : std::string_view(), setting.dtype);
    const MoeRow row{n[0], n[1], n[2], n[3], n[4], std::max<std::uint64_t>(1, n[5] / n[6])};
    const std::string shape =
        fmt::format("/{}/{}/{}/{}/{}/{}", dtype, row.experts, row.local, row.top_k, row.hidden, row.width);
    for (const auto& [name, stats] : operators) {
      const auto timing = stats.read(table, collector, name);
      if (!timing) continue;
      const Key key = cache.get(name + shape, [&] { return collector.key(moe_operator(name, dtype, row)); });
      collector.add(key, rows_point(row.tokens), *timing);
    }
  }
}

}  // namespace

bool read_frontier(const ProfileFile& file, ImportContext& context) {
  const bool linear = file.stem == "mlp" || file.stem.starts_with("linear_op");
  const bool attention = file.stem.starts_with("attention");
  if (!linear && !attention && file.stem != "moe") return read_vidur(file, context);
  context.collector.begin_file(file.shown);
  const VidurSetting setting = setting_of(file, context);
  if (linear)
    read_vidur_mlp(file, context, setting);
  else if (attention)
    read_vidur_attention(file, context, setting);
  else
    read_moe(file, context, setting);
  return true;
}

}  // namespace dooly::import_
