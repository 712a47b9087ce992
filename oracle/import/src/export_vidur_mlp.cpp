#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/weights.hpp"
#include "size_curve.hpp"
#include "vidur_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace dooly::import_ {
namespace {

using oracle::Sample;

constexpr std::array kOperators{
    "emb",         "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm",
    "mlp_up_proj", "mlp_act",         "mlp_down_proj", "add"};

std::string ms(double seconds) { return scaled_text(seconds, kMilliseconds); }

/// The vocabulary is padded differently by each engine: the size that an embedding was measured with.
std::uint64_t vocabulary_of(const ExportContext& context, const std::vector<oracle::SampleSet>& sets,
                            const std::string& dtype, std::uint32_t tp) {
  std::uint64_t best = 0;
  const std::uint64_t own = context.model.vocabulary;
  for (const oracle::SampleSet& set : sets) {
    const bool fits =
        set.key.kind == "embedding" && set.key.dtypes.at(0) == dtype && set.key.dims.at(1) == context.model.hidden;
    if (!fits) continue;
    const std::uint64_t rows = set.key.dims[0] * tp;
    if (rows + 64 >= own && rows <= own + own / 16 + 1024 && (best == 0 || rows < best)) best = rows;
  }
  return best == 0 ? oracle::padded_vocabulary(context.model) : best;
}

/// One operator of the table: what was measured, and what its samples say of other sizes.
struct Column {
  std::string name;
  bool is_linear = false;
  bool is_fused = false;  ///< a norm for which the fused add + norm stands
  ByRows measured{};
  std::optional<oracle::WorkCurve> curve{};  ///< none: nobody measured it, or the GPU is not known

  bool beyond(std::uint64_t rows) const { return rows < measured.begin()->first || rows > measured.rbegin()->first; }
};

/// Which operators of a row are not what their column says.
struct Named {
  std::string predicted, fused;
};

struct Filled {
  std::uint64_t cells = 0, beyond = 0, gaps = 0, all = 0;
};

/// Vidur adds up two norms and one addition a layer. Where additions were not measured on their own, the fused add +
/// norm stands for norms: it does both. Empty: it does not.
std::vector<Sample> fused_samples(const ExportContext& context, const oracle::OperatorKey& key,
                                  const oracle::OperatorKey& add) {
  const auto norm = fused_norm(key);
  if (!norm || !context.source.samples(signature_of(add)).empty()) return {};
  std::vector<Sample> fused = context.samples(*norm);
  if (fused.empty()) return fused;
  context.note(
      "norms: the fused add + norm stands for both, and for `add`, which was not measured on its own; column "
      "fused_operators names them");
  const bool is_first = !context.counted.contains(signature_of(key));
  if (const auto plain = context.samples(key); is_first && !plain.empty())
    context.report.left_out["norms without an addition, for which the fused ones stand"] += plain.size();
  return fused;
}

std::vector<Column> columns_of(const ExportContext& context, const VidurShape& shape, const std::string& dtype,
                               const std::string& family, const oracle::Gpu* gpu) {
  const auto keys = vidur_operators(shape, dtype, context.model, family);
  std::vector<Column> columns;
  for (const std::string name : kOperators) {
    const oracle::OperatorKey& key = keys.at(name);
    std::vector<Sample> samples;
    if (name.ends_with("layernorm")) samples = fused_samples(context, key, keys.at("add"));
    const bool is_fused = !samples.empty();
    if (!is_fused) samples = context.samples(key);
    Column& column = columns.emplace_back(
        Column{.name = name, .is_linear = key.kind == "linear", .is_fused = is_fused, .measured = by_rows(samples)});
    if (samples.empty())
      context.missing(fmt::format("{} (tp{})", name, shape.tensor_parallel));
    else if (gpu != nullptr)
      column.curve = size_curve(key, samples, *gpu);
  }
  return columns;
}

Sample predicted_at(const Column& column, std::uint64_t rows) {
  Sample sample;
  sample.median_s = sample.mean_s = sample.min_s = column.curve->at(static_cast<double>(rows)).seconds;
  return sample;
}

/// The cells of one size; `named` gets the names of those that were not measured, and of those measured as another.
std::string row_cells(const std::vector<Column>& columns, std::uint64_t rows, Named& named, Filled& filled) {
  std::string text;
  const auto add = [](std::string& names, const std::string& name) { names += (names.empty() ? "" : " ") + name; };
  for (const Column& column : columns) {
    const auto found = column.measured.find(rows);
    if (!column.measured.empty()) ++filled.all;
    if (found != column.measured.end()) {
      text += stats_cells(&found->second);
      if (column.is_fused) add(named.fused, column.name);
    } else if (column.curve) {
      const Sample sample = predicted_at(column, rows);
      text += stats_cells(&sample);
      add(named.predicted, column.name);
      ++filled.cells;
      if (column.beyond(rows)) ++filled.beyond;
    } else {
      text += stats_cells(nullptr);
      if (!column.measured.empty()) ++filled.gaps;
    }
  }
  return text;
}

void report_filled(const ExportContext& context, const Filled& filled) {
  if (filled.cells > 0)
    context.note(fmt::format(
        "mlp.csv: {} of {} cells are predictions, since not every operator was measured at every "
        "size; column predicted_operators names them{}",
        filled.cells, filled.all,
        filled.beyond > 0 ? fmt::format(" ({} beyond the sizes that the operator was measured at)", filled.beyond)
                          : ""));
  if (filled.gaps > 0)
    context.note(
        fmt::format("mlp.csv: {} of {} cells are empty, since `dooly list gpus` does not know {}: Vidur needs "
                    "every operator at every size",
                    filled.gaps, filled.all, context.options.gpu));
}

}  // namespace

std::string stats_header(const std::string& name) {
  std::string out;
  for (const char* figure : {"min", "max", "mean", "median", "std", "count"})
    out += fmt::format("time_stats.{}.{},", name, figure);
  return out;
}

std::string stats_cells(const Sample* sample) {
  if (sample == nullptr) return ",,,,,,";
  const double most = std::max({sample->median_s, sample->mean_s, sample->p90_s, sample->min_s});
  return fmt::format("{},{},{},{},{},{},", ms(sample->min_s), ms(most), ms(sample->mean_s), ms(sample->median_s),
                     ms(sample->std_s), sample->count);
}

ByRows by_rows(const std::vector<Sample>& samples) {
  ByRows out;
  for (const Sample& sample : samples) out[sample.point[0]] = sample;
  return out;
}

VidurShape shape_of(const oracle::ModelConfig& model, std::uint32_t tp) {
  const oracle::LayerShape* dense = &model.layers.front();
  for (const oracle::LayerShape& layer : model.layers)
    if (!layer.moe) {
      dense = &layer;
      break;
    }
  return {dense->attention.heads, dense->attention.kv_heads,        model.hidden,
          dense->intermediate,    oracle::padded_vocabulary(model), tp,
          model.gated_mlp};
}

void write_vidur_mlp(const ExportContext& context, const std::filesystem::path& folder, const std::string& dtype) {
  const auto sets = context.source.sets();
  const oracle::Gpu* gpu = known_gpu(gpu_name(context.options.gpu));
  const std::string precision = dtype == "float16" ? "" : "," + dtype;
  Filled filled;
  bool any_fused = false;
  const std::string family = context.run(context.options.tensor_parallel.front()).attention_family;
  const bool is_torch = family == "torch";
  std::vector<std::pair<std::string, Named>> lines;
  for (const std::uint32_t tp : context.options.tensor_parallel) {
    VidurShape shape = shape_of(context.model, tp);
    shape.vocabulary = vocabulary_of(context, sets, dtype, tp);
    const std::vector<Column> columns = columns_of(context, shape, dtype, family, gpu);
    // Norms and activations alone, which other models share, are no profile of this one.
    if (std::none_of(columns.begin(), columns.end(),
                     [](const Column& c) { return c.is_linear && !c.measured.empty(); }))
      continue;
    std::set<std::uint64_t> sizes;
    for (const Column& column : columns)
      for (const auto& [rows, sample] : column.measured) sizes.insert(rows);
    for (const std::uint64_t rows : sizes) {
      Named named;
      std::string text = row_cells(columns, rows, named, filled);
      text += fmt::format("{},{},{},{},{},{},{},{}{}", shape.heads, shape.kv_heads, shape.hidden, shape.intermediate,
                          shape.vocabulary, shape.gated ? "True" : "False", rows, tp, precision);
      if (is_torch) text += "," + backend_name(family, context.options.gpu);
      any_fused = any_fused || !named.fused.empty();
      lines.emplace_back(std::move(text), std::move(named));
    }
  }
  if (lines.empty()) return;
  report_filled(context, filled);
  std::string text;
  for (const char* name : kOperators) text += stats_header(name);
  text += "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers";
  text += precision.empty() ? "" : ",profiling_precision";
  if (is_torch) text += ",attention_backend";
  if (filled.cells > 0) text += ",predicted_operators";
  text += any_fused ? ",fused_operators\n" : "\n";
  for (const auto& [cells, named] : lines) {
    text += cells;
    if (filled.cells > 0) text += "," + named.predicted;
    if (any_fused) text += "," + named.fused;
    text += "\n";
  }
  context.write(folder / "mlp.csv", text);
}

}  // namespace dooly::import_
