#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "model_layers.hpp"
#include "numbers.hpp"
#include "oracle/oracle_error.hpp"
#include "vidur_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// `name: value` of a YAML file, the first one, at the top or at any depth. The few scalars that are wanted need no
/// parser.
std::string yaml_scalar(const std::string& text, const std::string& name, bool top = false) {
  for (std::size_t at = 0; (at = text.find(name + ":", at)) != std::string::npos; at += name.size()) {
    const std::size_t start = at == 0 || text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    if (text.find_first_not_of(' ', start) != at || (top && start != at)) continue;
    std::string value = text.substr(at + name.size() + 1, text.find('\n', at) - at - name.size() - 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\'' || value.front() == '"')) value.erase(0, 1);
    while (!value.empty() &&
           (value.back() == ' ' || value.back() == '\'' || value.back() == '"' || value.back() == '\r'))
      value.pop_back();
    return value;
  }
  return {};
}

std::string meta_text(const ProfileFile& file) {
  for (const char* up : {".", "..", "../.."}) {
    const auto path = file.path.parent_path() / up / "meta.yaml";
    if (std::filesystem::exists(path)) return file_bytes(path);
  }
  return {};
}

std::uint32_t tensor_parallel_of(const ProfileFile& file, const ImportOptions& options) {
  if (options.tensor_parallel > 0) return options.tensor_parallel;
  const std::string folder = file.folder(0);
  if (folder.starts_with("tp"))
    if (const auto tp = whole_number(std::string_view(folder).substr(2)); tp && *tp > 0 && *tp < 1024)
      return static_cast<std::uint32_t>(*tp);
  throw ImportError(
      fmt::format("{}: lies in no folder tpN; say the tensor parallelism with --tp N", file.path.string()));
}

/// A file's setting: its environment is set, its layers have keys.
struct Setting {
  std::map<std::string, oracle::OperatorKey> layers{};
  std::string model{};
  std::uint32_t count = 0;  ///< repetitions
};

std::map<std::string, oracle::OperatorKey> layers_of(const ProfileFile& file, const ModelRun& run) {
  try {
    return model_layers(run);
  } catch (const oracle::OracleError& error) {
    throw ImportError(fmt::format("{}: {}", file.path.string(), error.what()));
  }
}

Setting setting_v1(const ProfileFile& file, ImportContext& context) {
  const ImportOptions& options = context.options;
  const std::string meta = meta_text(file);
  if (meta.empty()) context.note(file.shown + ": no meta.yaml: engine and repetitions are not known");
  std::string gpu = yaml_scalar(meta, "gpu");
  if (gpu.empty()) gpu = file.folder(3).find("--") == std::string::npos ? file.folder(3) : "";
  oracle::Environment environment = environment_of(gpu, options, "llmservingsim", file.path.string());
  if (const std::string version = yaml_scalar(meta, "vllm_version"); !version.empty())
    environment.libraries.try_emplace("vllm", version);
  if (const std::string cuda = yaml_scalar(meta, "cuda_version"); environment.cuda.empty() && !cuda.empty())
    environment.cuda = cuda.substr(0, cuda.find('.'));
  context.collector.environment(environment);

  Setting setting;
  // Below engine_effective stands another model, a scratch path.
  setting.model = yaml_scalar(meta, "model", true);
  if (setting.model.empty()) setting.model = model_from_folder(file, 2);
  ModelRun run{.model = model_for(file, options, setting.model)};
  run.tensor_parallel = tensor_parallel_of(file, options);
  run.dtype = asked_dtype(options, yaml_scalar(meta, "dtype"), "bfloat16");
  run.kv_dtype = options.kv_dtype.empty() ? run.dtype : dtype_word(options.kv_dtype);
  const std::string said = yaml_scalar(meta, "attention_backend");
  run.attention_family = options.backend.empty() && !said.empty() ? family_word(said, environment.gpu)
                                                                  : attention_family(environment.gpu, options);
  run.block_size = options.block_size;
  if (run.block_size == 0)
    run.block_size = static_cast<std::uint32_t>(whole_number(yaml_scalar(meta, "block_size")).value_or(16));
  if (options.backend.empty() && said.empty())
    context.note(fmt::format(
        "attention of {}: the profile names no back end, '{}' taken (vLLM's default there); --backend says another",
        environment.gpu, run.attention_family));
  setting.layers = layers_of(file, run);
  setting.count = static_cast<std::uint32_t>(whole_number(yaml_scalar(meta, "measurement_iterations")).value_or(0));
  context.collector.model(setting.model);
  return setting;
}

/// Columns beside the time that our own exports add.
struct MoreFigures {
  explicit MoreFigures(const CsvTable& table)
      : count(table.find("count")),
        mean(table.find("mean_us")),
        std(table.find("std_us")),
        min(table.find("min_us")),
        p10(table.find("p10_us")),
        p90(table.find("p90_us")) {}
  Timing timing(const CsvTable& table, double seconds, std::uint32_t usual_count) const {
    Timing out = single(seconds, usual_count);
    if (count) out.count = static_cast<std::uint32_t>(whole_number(table.cell(*count)).value_or(usual_count));
    const auto read = [&](const std::optional<std::size_t>& column, double otherwise) {
      return column ? scaled_number(table.cell(*column), kMicroseconds).value_or(otherwise) : otherwise;
    };
    out.mean = read(mean, seconds), out.std = read(std, 0), out.min = read(min, 0);
    out.p10 = read(p10, 0), out.p90 = read(p90, 0);
    return out;
  }
  std::optional<std::size_t> count, mean, std, min, p10, p90;
};

/// Rows of our own exports that name what nobody measured: `predicted_operators`.
class Predictions {
 public:
  Predictions(const CsvTable& table, std::string_view operator_name)
      : column_(table.find("predicted_operators")),
        name_(operator_name) {}
  /// Throws ImportError for another name: the prediction would pass for a measurement.
  bool has_row(const CsvTable& table) const {
    if (!column_ || table.cell(*column_).empty()) return false;
    if (table.cell(*column_) == name_) return true;
    throw ImportError(
        fmt::format("{}:{}: column predicted_operators: no operator of this table is called '{}'; known: {}",
                    table.name(), table.line(), table.cell(*column_), name_));
  }

 private:
  std::optional<std::size_t> column_;
  std::string_view name_;
};

/// Time and counts of the current row; false, and the row is dropped, if one cannot be read.
template <std::size_t N>
bool read_row(const CsvTable& table, ImportContext& context, std::size_t time, int unit, double& seconds,
              const std::array<std::size_t, N>& columns, std::array<std::uint64_t, N>& counts) {
  context.collector.line(table.line());
  const auto value = scaled_number(table.cell(time), unit);
  if (!value) return context.collector.drop("not a number", table.cell(time)), false;
  seconds = *value;
  for (std::size_t i = 0; i < N; ++i) {
    const auto count = whole_number(table.cell(columns[i]));
    if (!count) return context.collector.drop("not a count", table.cell(columns[i])), false;
    counts[i] = *count;
  }
  return true;
}

void read_layers(const ProfileFile& file, ImportContext& context, const Setting& setting, const char* layer_column,
                 const char* rows_column, const char* time_column, int unit) {
  CsvTable table(file.path);
  const auto layer = table.column(layer_column), time = table.column(time_column);
  const std::array columns{table.column(rows_column)};
  const MoreFigures more(table);
  KeyCache cache;
  std::array<std::uint64_t, 1> rows{};
  double seconds = 0;
  while (table.next()) {
    if (!read_row(table, context, time, unit, seconds, columns, rows)) continue;
    const std::string name(table.cell(layer));
    const auto found = setting.layers.find(name);
    if (found == setting.layers.end()) {
      context.collector.drop("a layer that the model does not have", name);
      continue;
    }
    const Key key = cache.get(name, [&] { return context.collector.key(found->second); });
    const bool attention = found->second.kind == "attention";
    context.collector.add(key, attention ? prefill_point(1, rows[0], 0) : rows_point(rows[0]),
                          more.timing(table, seconds, setting.count));
  }
}

void read_attention(const ProfileFile& file, ImportContext& context, const Setting& setting) {
  CsvTable table(file.path);
  const std::array columns{table.column("prefill_chunk"), table.column("kv_prefill"), table.column("n_decode"),
                           table.column("kv_decode")};
  const auto time = table.column("time_us");
  const MoreFigures more(table);
  const Predictions predictions(table, "attention");
  const Key key = context.collector.key(setting.layers.at("attention"));
  std::array<std::uint64_t, 4> n{};
  double seconds = 0;
  while (table.next()) {
    if (predictions.has_row(table)) continue;
    if (!read_row(table, context, time, kMicroseconds, seconds, columns, n)) continue;
    const bool prefill = n[0] > 0, decode = n[2] > 0;
    if (!prefill && !decode) {
      context.collector.drop("an empty batch", "prefill_chunk=0 n_decode=0");
      continue;
    }
    context.collector.add(key, {prefill ? 1u : 0u, n[0], prefill ? n[1] : 0, n[2], decode ? n[3] : 0},
                          more.timing(table, seconds, setting.count));
  }
}

/// Measured times of attention.csv, and of what our own exports have beside its grid, by point: to hold the other table
/// against.
std::map<std::array<std::uint64_t, 4>, double> grid_times(const ProfileFile& file) {
  std::map<std::array<std::uint64_t, 4>, double> times;
  for (const char* name : {"attention.csv", "attention.csv.gz", "attention_off_grid.csv"}) {
    const auto path = file.path.parent_path() / name;
    if (!std::filesystem::exists(path)) continue;
    CsvTable table(path);
    const std::array columns{table.column("prefill_chunk"), table.column("kv_prefill"), table.column("n_decode"),
                             table.column("kv_decode")};
    const auto time = table.column("time_us");
    const Predictions predictions(table, "attention");
    while (table.next()) {
      if (predictions.has_row(table)) continue;
      std::array<std::uint64_t, 4> point{};
      for (std::size_t i = 0; i < point.size(); ++i) point[i] = whole_number(table.cell(columns[i])).value_or(0);
      times.try_emplace(point, scaled_number(table.cell(time), kMicroseconds).value_or(0));
    }
  }
  return times;
}

/// The profiler of version 1.0.0 writes sums over its repetitions into skew.csv and means into attention.csv. Batches
/// that stand in both tell: what to divide the times of skew.csv by.
double repetitions_summed(const ProfileFile& file, ImportContext& context, std::uint32_t repetitions) {
  const auto grid = grid_times(file);
  CsvTable table(file.path);
  const std::array columns{table.column("pc"), table.column("kp"), table.column("n"), table.column("kv_big")};
  const auto time = table.column("t_max_us");
  std::vector<double> ratios;
  while (table.next()) {
    std::array<std::uint64_t, 4> point{};
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = whole_number(table.cell(columns[i])).value_or(0);
    const auto found = grid.find(point);
    const double here = scaled_number(table.cell(time), kMicroseconds).value_or(0);
    if (found != grid.end() && found->second > 0 && here > 0) ratios.push_back(here / found->second);
  }
  if (ratios.empty()) {
    context.note(file.shown +
                 ": no batch in common with attention.csv, so not known whether times are sums; taken as they are");
    return 1;
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  const double ratio = ratios[ratios.size() / 2];
  if (repetitions > 1 && std::abs(ratio / repetitions - 1) < 0.1) {
    context.note(fmt::format(
        "{}: times are {:.3f} times those of attention.csv for the same batches: sums over {} repetitions, divided",
        file.shown, ratio, repetitions));
    return repetitions;
  }
  if (std::abs(ratio - 1) > 0.1)
    context.note(
        fmt::format("{}: times are {:.3f} times those of attention.csv for the same batches; taken as they are",
                    file.shown, ratio));
  return 1;
}

/// Batches with two context lengths, beside the same batches with all decodes at the mean and at the longest context.
void read_skew(const ProfileFile& file, ImportContext& context, const Setting& setting) {
  CsvTable table(file.path);
  const std::array columns{table.column("n"),   table.column("nb"),     table.column("pc"),     table.column("kp"),
                           table.column("kvs"), table.column("kv_big"), table.column("kv_mean")};
  const std::array times{table.column("t_mean_us"), table.column("t_max_us")};
  const auto skewed = table.column("t_skew_us");
  const MoreFigures more(table);
  const Key key = context.collector.key(setting.layers.at("attention"));
  const double divisor = repetitions_summed(file, context, setting.count);
  std::array<std::uint64_t, 7> n{};
  double seconds = 0;
  while (table.next()) {
    if (!read_row(table, context, skewed, kMicroseconds, seconds, columns, n)) continue;
    const std::uint64_t prefill = n[2] > 0 ? 1 : 0;
    if (n[1] > n[0]) {
      context.collector.drop("more long decodes than decodes", fmt::format("n={} nb={}", n[0], n[1]));
      continue;
    }
    context.collector.add(key, {prefill, n[2], n[3], n[0], n[4], n[1], n[5]},
                          more.timing(table, seconds / divisor, setting.count));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (table.cell(times[i]).empty()) continue;
      const auto time = scaled_number(table.cell(times[i]), kMicroseconds);
      if (time)
        context.collector.add(key, {prefill, n[2], n[3], n[0], i == 0 ? n[6] : n[5]},
                              single(*time / divisor, setting.count));
    }
  }
}

void read_moe(const ProfileFile& file, ImportContext& context, const Setting& setting) {
  const auto found = setting.layers.find("moe");
  if (found == setting.layers.end())
    throw ImportError(fmt::format("{}: experts of a model that has none ({})", file.path.string(), setting.model));
  CsvTable table(file.path);
  const std::array columns{table.column("tokens"), table.column("activated_experts")};
  const auto time = table.column("time_us");
  const MoreFigures more(table);
  const Predictions predictions(table, "moe");
  const Key key = context.collector.key(found->second);
  std::array<std::uint64_t, 2> n{};
  double seconds = 0;
  while (table.next())
    if (!predictions.has_row(table) && read_row(table, context, time, kMicroseconds, seconds, columns, n))
      context.collector.add(key, {n[0], n[1]}, more.timing(table, seconds, setting.count));
}

void read_attention_v0_tpu(const ProfileFile& file, ImportContext& context, const Setting& setting) {
  CsvTable table(file.path);
  const std::array columns{table.column("prefill_chunk_size"), table.column("kv_cache_size"),
                           table.column("batch_size")};
  const auto prefill = table.column("is_prefill"), median = table.column("p50_ns"), mean = table.column("mean_ns"),
             p90 = table.column("p90_ns");
  const Key key = context.collector.key(setting.layers.at("attention"));
  std::array<std::uint64_t, 3> n{};
  double seconds = 0;
  while (table.next()) {
    if (!read_row(table, context, median, kNanoseconds, seconds, columns, n)) continue;
    const Timing timing{.median = seconds,
                        .mean = scaled_number(table.cell(mean), kNanoseconds).value_or(seconds),
                        .p90 = scaled_number(table.cell(p90), kNanoseconds).value_or(0)};
    context.collector.add(
        key, table.cell(prefill) == "True" ? prefill_point(n[2], n[0], n[1]) : decode_point(n[2], n[1]), timing);
  }
}

oracle::Environment environment_v0(const ProfileFile& file, const ImportContext& context) {
  const bool two_level = file.folder(1).find("--") == std::string::npos;  // org/model
  return environment_of(file.folder(two_level ? 3 : 2), context.options, "llmservingsim-v0", file.path.string());
}

/// Its attention tables have Vidur's layout.
VidurSetting vidur_setting_v0(const ProfileFile& file, const ImportContext& context) {
  VidurSetting setting{.environment = environment_v0(file, context)};
  setting.dtype = asked_dtype(context.options, "", "bfloat16");
  setting.kv_dtype = context.options.kv_dtype.empty() ? std::string() : dtype_word(context.options.kv_dtype);
  setting.model = model_from_folder(file, 1);
  setting.config = model_if_known(context.options, setting.model);
  return setting;
}

Setting setting_v0(const ProfileFile& file, ImportContext& context) {
  const ImportOptions& options = context.options;
  const oracle::Environment environment = environment_v0(file, context);
  context.collector.environment(environment);
  Setting setting{.model = model_from_folder(file, 1)};
  ModelRun run{.model = model_for(file, options, setting.model)};
  run.tensor_parallel = tensor_parallel_of(file, options);
  run.dtype = asked_dtype(options, "", "bfloat16");
  run.kv_dtype = options.kv_dtype.empty() ? run.dtype : dtype_word(options.kv_dtype);
  run.attention_family = options.backend.empty() ? family_word("FLASH_ATTN", environment.gpu) : options.backend;
  setting.layers = layers_of(file, run);
  // Its layers are those of the Hugging Face module: norms without the residual, a plain activation, all of PyTorch.
  for (const char* norm : {"input_layernorm", "post_layernorm", "final_layernorm"}) {
    setting.layers[norm].attributes.erase("residual");
    setting.layers[norm].family = "torch";
  }
  if (setting.layers.contains("rope")) setting.layers["rope"].family = "torch";
  if (setting.layers.contains("act_fn"))
    setting.layers["act_fn"].kind = "silu", setting.layers["act_fn"].family = "torch";
  context.collector.model(setting.model);
  return setting;
}

}  // namespace

bool read_llmservingsim(const ProfileFile& file, ImportContext& context) {
  using Reader = void (*)(const ProfileFile&, ImportContext&, const Setting&);
  static constexpr std::array<std::pair<std::string_view, Reader>, 6> readers{{
      {"dense", [](const ProfileFile& f, ImportContext& c,
                   const Setting& s) { read_layers(f, c, s, "layer", "tokens", "time_us", kMicroseconds); }},
      {"per_sequence", [](const ProfileFile& f, ImportContext& c,
                          const Setting& s) { read_layers(f, c, s, "layer", "sequences", "time_us", kMicroseconds); }},
      {"attention", read_attention},
      {"attention_off_grid", read_attention},
      {"skew", read_skew},
      {"moe", read_moe},
  }};
  for (const auto& [stem, reader] : readers) {
    if (file.stem != stem) continue;
    context.collector.begin_file(file.shown);
    reader(file, context, setting_v1(file, context));
    return true;
  }
  context.skip(file.shown,
               file.stem == "skew_fit" ? "a fitted model, not measurements" : "not one of the tables that are known");
  return false;
}

bool read_llmservingsim_v0(const ProfileFile& file, ImportContext& context) {
  if (file.stem == "layers") {
    context.collector.begin_file(file.shown);
    read_layers(file, context, setting_v0(file, context), "layer_name", "input", "latency(ns)", kNanoseconds);
    return true;
  }
  if (file.stem == "attention") {
    context.collector.begin_file(file.shown);
    const Setting setting = setting_v0(file, context);
    if (CsvTable(file.path).has("p50_ns")) {
      read_attention_v0_tpu(file, context, setting);
    } else {
      read_vidur_attention(file, context, vidur_setting_v0(file, context));
    }
    return true;
  }
  context.skip(file.shown, "not one of the tables that are known");
  return false;
}

}  // namespace dooly::import_
