#include "vidur_tables.hpp"

#include "csv_table.hpp"
#include "environments.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

constexpr std::array kMlpOperators{
    "emb",         "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm",
    "mlp_up_proj", "mlp_act",         "mlp_down_proj", "add",       "lm_head_linear"};

/// head_dim of a table that gives only the embedding's width: a known model's, else the quotient that Vidur takes.
std::uint64_t head_dim(const std::optional<oracle::ModelConfig>& config, std::uint64_t hidden, std::uint64_t heads) {
  if (config && !config->layers.empty() && config->hidden == hidden && config->layers[0].attention.heads == heads)
    return config->layers[0].attention.head_dim;
  return heads == 0 ? 0 : hidden / heads;
}

/// Columns that rows of these tables carry beside the times.
class RowSetting {
 public:
  RowSetting(const CsvTable& table, const VidurSetting& setting, ImportContext& context)
      : setting_(setting),
        context_(context),
        precision_(table.find("profiling_precision")),
        measurement_(table.find("measurement_type")) {
    if (!setting.environment_by_row || !measurement_) context.collector.environment(setting.environment);
  }
  std::string dtype(const CsvTable& table) const {
    if (!precision_ || table.cell(*precision_).empty()) return setting_.dtype;
    return asked_dtype(context_.options, table.cell(*precision_), setting_.dtype);
  }
  void set_environment(const CsvTable& table) {
    if (!setting_.environment_by_row || !measurement_ || table.cell(*measurement_) == seen_) return;
    seen_ = table.cell(*measurement_);
    oracle::Environment environment = setting_.environment;
    if (!seen_.empty()) environment.source += " " + seen_;
    context_.collector.environment(environment);
  }

 private:
  const VidurSetting& setting_;
  ImportContext& context_;
  std::optional<std::size_t> precision_, measurement_;
  std::string seen_ = "\x01";
};

bool read_counts(const CsvTable& table, SampleCollector& collector, const std::vector<std::size_t>& columns,
                 std::vector<std::uint64_t>& counts) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto value = whole_number(table.cell(columns[i]));
    if (!value) {
      collector.drop("not a count", fmt::format("{}={}", table.header()[columns[i]], table.cell(columns[i])));
      return false;
    }
    counts[i] = *value;
  }
  return true;
}

constexpr std::array<std::string_view, 2> kNorms{"input_layernorm", "post_attention_layernorm"};

/// A column of our own exports that names operators of its row, with blanks between them.
class NamedOperators {
 public:
  NamedOperators(const CsvTable& table, const char* column) : name_(column), column_(table.find(column)) {}
  /// Throws ImportError for a name that is none of `known`: what it was to keep out would come in.
  template <typename Names>
  void check(const CsvTable& table, const Names& known) const {
    if (!column_) return;
    for (std::string_view rest = table.cell(*column_); !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (!word.empty() && std::find(known.begin(), known.end(), word) == known.end())
        throw ImportError(fmt::format("{}:{}: column {}: no operator is called '{}'; known: {}", table.name(),
                                      table.line(), name_, word, fmt::join(known, ", ")));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  }
  bool present() const { return column_.has_value(); }
  /// `add` is none of `attn_add`.
  bool has(const CsvTable& table, std::string_view word) const {
    return column_ &&
           (" " + std::string(table.cell(*column_)) + " ").find(" " + std::string(word) + " ") != std::string::npos;
  }

 private:
  const char* name_;
  std::optional<std::size_t> column_;
};

std::uint64_t share(std::uint64_t whole, std::uint64_t parts) { return std::max<std::uint64_t>(1, whole / parts); }

}  // namespace

TimeStats::TimeStats(const CsvTable& table, const std::string& name)
    : min(table.find("time_stats." + name + ".min")),
      max(table.find("time_stats." + name + ".max")),
      mean(table.find("time_stats." + name + ".mean")),
      median(table.find("time_stats." + name + ".median")),
      std(table.find("time_stats." + name + ".std")),
      count(table.find("time_stats." + name + ".count")) {}

std::optional<Timing> TimeStats::read(const CsvTable& table, SampleCollector& collector,
                                      const std::string& name) const {
  const auto main = median ? median : mean;
  if (table.cell(*main).empty()) return std::nullopt;
  const auto figure = [&](const std::optional<std::size_t>& column) {
    return column ? scaled_number(table.cell(*column), kMilliseconds).value_or(0) : 0;
  };
  const auto value = scaled_number(table.cell(*main), kMilliseconds);
  if (!value) {
    collector.drop("not a number", fmt::format("{}: {}", name, table.cell(*main)));
    return std::nullopt;
  }
  Timing timing{.median = *value, .mean = mean ? figure(mean) : *value, .min = figure(min), .std = figure(std)};
  if (count) timing.count = static_cast<std::uint32_t>(whole_number(table.cell(*count)).value_or(0));
  if (max && *value > figure(max) * 1.0000001)
    collector.remark("figures contradict each other", fmt::format("{}: median above the maximum", name));
  return timing;
}

std::map<std::string, oracle::OperatorKey> vidur_operators(const VidurShape& shape, const std::string& dtype,
                                                           const std::optional<oracle::ModelConfig>& config,
                                                           const std::string& family) {
  const oracle::LinearTypes types{dtype, dtype, dtype};
  const std::uint64_t tp = shape.tensor_parallel, dim = head_dim(config, shape.hidden, shape.heads);
  const std::uint64_t heads = share(shape.heads, tp), kv_heads = share(shape.kv_heads, tp);
  const std::uint64_t width = share(shape.intermediate, tp);
  const bool qkv_bias = config && config->qkv_bias, out_bias = config && config->output_bias,
             mlp_bias = config && config->mlp_bias;
  const oracle::OperatorKey norm = config && config->layer_norm
                                       ? oracle::layer_norm_key(dtype, shape.hidden, config->norm_bias)
                                       : oracle::rms_norm_key(dtype, shape.hidden, false);
  // Side by side with the MLP, attention's result and the MLP's are added to the residual stream at once.
  const bool is_parallel = config && config->residual == oracle::ModelConfig::Residual::kParallel;
  std::map<std::string, oracle::OperatorKey> keys{
      {"emb", oracle::embedding_key(dtype, share(shape.vocabulary, tp), shape.hidden)},
      {"input_layernorm", norm},
      {"post_attention_layernorm", norm},
      {"attn_pre_proj", oracle::linear_key(types, shape.hidden, (heads + 2 * kv_heads) * dim, qkv_bias)},
      {"attn_rope", oracle::rope_key(dtype, heads, kv_heads, dim)},  // whole heads, whatever the model
      {"attn_post_proj", oracle::linear_key(types, heads * dim, shape.hidden, out_bias)},
      {"mlp_up_proj", oracle::linear_key(types, shape.hidden, (shape.gated ? 2 : 1) * width, mlp_bias)},
      {"mlp_act", oracle::activation_key(shape.gated ? "silu_and_mul" : "gelu", dtype, width)},
      {"mlp_down_proj", oracle::linear_key(types, width, shape.hidden, mlp_bias)},
      {"add", oracle::elementwise_key("add", dtype, shape.hidden, is_parallel ? 3 : 2)},
      {"lm_head_linear", oracle::linear_key(types, shape.hidden, share(shape.vocabulary, tp))},
  };
  for (auto& [name, key] : keys) key = beside_attention(std::move(key), family);
  return keys;
}

std::optional<oracle::OperatorKey> fused_norm(const oracle::OperatorKey& norm) {
  if (norm.kind != "rms_norm") return std::nullopt;
  return oracle::rms_norm_key(norm.dtypes[0], norm.dims[0], true, norm.family);
}

oracle::OperatorKey beside_attention(oracle::OperatorKey key, const std::string& family) {
  if (family == "torch") key.family = family;
  return key;
}

void read_vidur_mlp(const ProfileFile& file, ImportContext& context, const VidurSetting& setting) {
  CsvTable table(file.path);
  SampleCollector& collector = context.collector;
  const std::vector<std::size_t> columns{table.column("n_head"),     table.column("n_kv_head"),
                                         table.column("n_embd"),     table.column("n_expanded_embd"),
                                         table.column("vocab_size"), table.column("num_tensor_parallel_workers"),
                                         table.column("num_tokens")};
  const auto gated = table.column("use_gated_mlp");
  const NamedOperators predicted(table, "predicted_operators"), fused(table, "fused_operators");
  const auto backend = table.find("attention_backend");
  std::vector<std::pair<std::string, TimeStats>> operators;
  for (const char* name : kMlpOperators)
    if (const TimeStats stats(table, name); stats.present()) operators.emplace_back(name, stats);
  for (const std::string& column : table.header())
    if (column.ends_with(".median") && column.starts_with("time_stats.")) {
      const std::string name = column.substr(11, column.size() - 18);
      if (std::find(kMlpOperators.begin(), kMlpOperators.end(), name) == kMlpOperators.end())
        context.skip(file.shown + " column " + name, "stands for no operator of a plan");
    }
  RowSetting row(table, setting, context);
  struct Keys {
    Key key{};
    std::optional<Key> fused{};
  };
  std::map<std::string, std::vector<Keys>> shapes;
  std::vector<std::uint64_t> n(columns.size());
  while (table.next()) {
    collector.line(table.line());
    row.set_environment(table);
    predicted.check(table, kMlpOperators);
    fused.check(table, kNorms);
    if (!read_counts(table, collector, columns, n)) continue;
    if (n[5] == 0 || n[0] == 0) {
      collector.drop("not a count", "no heads or no workers");
      continue;
    }
    const std::string dtype = row.dtype(table);
    std::string family = context.options.backend;
    if (family.empty() && backend) family = family_word(table.cell(*backend), setting.environment.gpu);
    std::string text = dtype + "/" + family;
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) text.append("/").append(std::to_string(n[i]));
    auto& keys = shapes[text];
    if (keys.empty()) {
      const auto by_name = vidur_operators({n[0], n[1], n[2], n[3], n[4], n[5], table.cell(gated) == "True"}, dtype,
                                           setting.config, family);
      for (const auto& [name, stats] : operators) {
        Keys& made = keys.emplace_back(Keys{.key = collector.key(by_name.at(name))});
        if (!fused.present()) continue;
        if (const auto norm = fused_norm(by_name.at(name))) made.fused = collector.key(*norm);
      }
    }
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const std::string& name = operators[i].first;
      if (predicted.has(table, name)) continue;
      const auto timing = operators[i].second.read(table, collector, name);
      if (!timing) continue;
      const bool is_fused = keys[i].fused && fused.has(table, name);
      collector.add(is_fused ? *keys[i].fused : keys[i].key, rows_point(n[6]), *timing);
    }
  }
}

void read_vidur_attention(const ProfileFile& file, ImportContext& context, const VidurSetting& setting) {
  CsvTable table(file.path);
  SampleCollector& collector = context.collector;
  const std::vector<std::size_t> columns{table.column("n_embd"),       table.column("n_q_head"),
                                         table.column("n_kv_head"),    table.column("num_tensor_parallel_workers"),
                                         table.column("batch_size"),   table.column("prefill_chunk_size"),
                                         table.column("kv_cache_size")};
  const auto is_prefill = table.column("is_prefill"), backend = table.column("attention_backend");
  const auto block = table.find("block_size"), equal = table.find("equal_seq_len"),
             mixed = table.find("is_mixed_batch"), longest = table.find("max_seq_len"),
             shortest = table.find("min_seq_len"), true_mixed = table.find("is_true_mixed_batch");
  const TimeStats prefill(table, "attn_prefill"), decode(table, "attn_decode"), save(table, "attn_kv_cache_save");
  if (TimeStats(table, "attn_input_reshape").present())
    context.skip(file.shown + " columns attn_input_reshape, attn_output_reshape", "views, no work of their own");
  RowSetting row(table, setting, context);
  KeyCache cache;
  std::vector<std::uint64_t> n(columns.size());
  while (table.next()) {
    collector.line(table.line());
    row.set_environment(table);
    if (!read_counts(table, collector, columns, n)) continue;
    if (n[1] == 0 || n[3] == 0 || n[4] == 0) {
      collector.drop("not a count", "no heads, workers or sequences");
      continue;
    }
    const bool ragged = (mixed && table.cell(*mixed) == "True" && longest && shortest &&
                         table.cell(*longest) != table.cell(*shortest)) ||
                        (true_mixed && table.cell(*true_mixed) == "True");
    if (ragged) {
      collector.drop("a ragged batch, which a point cannot hold",
                     equal ? table.cell(equal.value()) : std::string_view("different lengths"));
      continue;
    }
    const std::string dtype = row.dtype(table);
    const std::string cache_dtype = setting.kv_dtype.empty() ? dtype : setting.kv_dtype;
    const std::string block_text(block ? table.cell(*block) : std::string_view("16"));
    std::string shape = dtype + "/" + block_text + "/" + std::string(table.cell(backend));
    for (std::size_t i = 0; i < 4; ++i) shape.append("/").append(std::to_string(n[i]));
    const oracle::AttentionWork work{.heads = share(n[1], n[3]),
                                     .kv_heads = share(n[2], n[3]),
                                     .head_dim = head_dim(setting.config, n[0], n[1]),
                                     .block_size = static_cast<std::uint32_t>(whole_number(block_text).value_or(16))};
    const std::string family = context.options.backend.empty()
                                   ? family_word(table.cell(backend), setting.environment.gpu)
                                   : context.options.backend;
    const Key key =
        cache.get(shape, [&] { return collector.key(oracle::attention_key(dtype, cache_dtype, work, family)); });
    const bool is_chunk = table.cell(is_prefill) == "True";
    const TimeStats& stats = is_chunk ? prefill : decode;
    if (const auto timing = stats.read(table, collector, is_chunk ? "attn_prefill" : "attn_decode"))
      collector.add(key, is_chunk ? prefill_point(n[4], n[5], n[6]) : decode_point(n[4], n[6]), *timing);
    if (!save.present() || table.cell(save.median ? save.median.value() : save.mean.value()).empty()) continue;
    const Key write = cache.get("save/" + shape, [&] {
      return collector.key(beside_attention(
          oracle::kv_write_key(dtype, cache_dtype, work.kv_heads, work.head_dim, work.block_size), family));
    });
    if (const auto timing = save.read(table, collector, "attn_kv_cache_save"))
      collector.add(write, rows_point(is_chunk ? n[4] * n[5] : n[4]), *timing);
  }
}

}  // namespace dooly::import_
