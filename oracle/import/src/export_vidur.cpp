#include "environments.hpp"
#include "exporter.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/weights.hpp"
#include "vidur_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace dooly::import_ {
namespace {

using oracle::Sample;

constexpr std::array kOperators{
    "emb",         "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm",
    "mlp_up_proj", "mlp_act",         "mlp_down_proj", "add"};

std::string stats_header(const std::string& name) {
  std::string out;
  for (const char* figure : {"min", "max", "mean", "median", "std", "count"})
    out += fmt::format("time_stats.{}.{},", name, figure);
  return out;
}

std::string ms(double seconds) { return scaled_text(seconds, kMilliseconds); }

/// Six cells; empty ones for what was not measured.
std::string stats_cells(const Sample* sample) {
  if (sample == nullptr) return ",,,,,,";
  const double most = std::max({sample->median_s, sample->mean_s, sample->p90_s, sample->min_s});
  return fmt::format("{},{},{},{},{},{},", ms(sample->min_s), ms(most), ms(sample->mean_s), ms(sample->median_s),
                     ms(sample->std_s), sample->count);
}

using ByRows = std::map<std::uint64_t, Sample>;

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

std::vector<Sample> norm_samples(const ExportContext& context, const oracle::OperatorKey& key) {
  std::vector<Sample> samples = context.samples(key);
  if (!samples.empty() || key.kind != "rms_norm") return samples;
  samples = context.samples(oracle::rms_norm_key(key.dtypes[0], key.dims[0], true));
  const std::string note = "norms: only the fused add + norm was measured, it stands for both";
  if (!samples.empty() &&
      std::find(context.report.notes.begin(), context.report.notes.end(), note) == context.report.notes.end())
    context.report.notes.push_back(note);
  return samples;
}

void write_mlp(const ExportContext& context, const std::filesystem::path& folder, const std::string& dtype,
               const std::vector<oracle::SampleSet>& sets) {
  std::string text;
  for (const char* name : kOperators) text += stats_header(name);
  text += "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers";
  text += dtype == "float16" ? "\n" : ",profiling_precision\n";
  for (const std::uint32_t tp : context.options.tensor_parallel) {
    VidurShape shape = shape_of(context.model, tp);
    shape.vocabulary = vocabulary_of(context, sets, dtype, tp);
    const auto keys = vidur_operators(shape, dtype, context.model);
    std::vector<ByRows> columns;
    std::set<std::uint64_t> tokens;
    for (const std::string name : kOperators) {
      columns.push_back(
          by_rows(name.ends_with("layernorm") ? norm_samples(context, keys.at(name)) : context.samples(keys.at(name))));
      if (columns.back().empty()) context.missing(fmt::format("{} (tp{})", name, tp));
      if (keys.at(name).kind == "linear")
        for (const auto& [rows, sample] : columns.back()) tokens.insert(rows);
    }
    for (const std::uint64_t rows : tokens) {
      for (const ByRows& column : columns) {
        const auto found = column.find(rows);
        text += stats_cells(found == column.end() ? nullptr : &found->second);
      }
      text += fmt::format("{},{},{},{},{},{},{},{}", shape.heads, shape.kv_heads, shape.hidden, shape.intermediate,
                          shape.vocabulary, shape.gated ? "True" : "False", rows, tp);
      text += dtype == "float16" ? "\n" : fmt::format(",{}\n", dtype);
    }
  }
  if (std::count(text.begin(), text.end(), '\n') > 1) context.write(folder / "mlp.csv", text);
}

std::string backend_name(const std::string& family, const std::string& gpu) {
  if (family == "flashinfer") return "AttentionBackend.FLASHINFER";
  if (family_word("FLASH_ATTENTION", gpu_name(gpu)) == family) return "AttentionBackend.FLASH_ATTENTION";
  std::string word = family;
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "AttentionBackend." + word;
}

void write_attention(const ExportContext& context, const std::filesystem::path& folder, const std::string& dtype) {
  std::string text;
  for (const char* name : {"attn_kv_cache_save", "attn_prefill", "attn_decode"}) text += stats_header(name);
  text +=
      "n_embd,n_q_head,n_kv_head,block_size,num_tensor_parallel_workers,max_model_len,batch_size,prefill_chunk_size,kv_"
      "cache_size,is_prefill,attention_backend";
  text += dtype == "float16" ? "\n" : ",profiling_precision\n";
  for (const std::uint32_t tp : context.options.tensor_parallel) {
    const ModelRun run = context.run(tp);
    const auto layers = model_layers(run);
    const auto attention = layers.find("attention");
    if (attention == layers.end()) continue;
    const oracle::OperatorKey& key = attention->second;
    const auto samples = context.samples(key);
    if (samples.empty()) context.missing(fmt::format("attention (tp{})", tp));
    const ByRows writes = by_rows(
        context.samples(oracle::kv_write_key(run.dtype, run.kv_dtype, key.dims[1], key.dims[2], run.block_size)));
    const VidurShape shape = shape_of(context.model, tp);
    for (const Sample& sample : samples) {
      const auto& p = sample.point;
      const bool prefill = p[0] > 0;
      if ((prefill && p[3] > 0) || p[5] > 0) {
        ++context.report
              .left_out["batches of prefill and decode, or of several context lengths, which the layout cannot hold"];
        continue;
      }
      const std::uint64_t batch = prefill ? p[0] : p[3];
      const auto write = writes.find(prefill ? batch * p[1] : batch);
      text += stats_cells(write == writes.end() ? nullptr : &write->second) + stats_cells(prefill ? &sample : nullptr) +
              stats_cells(prefill ? nullptr : &sample);
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", shape.hidden, shape.heads, shape.kv_heads, run.block_size,
                          tp, context.model.max_position, batch, p[1], prefill ? p[2] : p[4],
                          prefill ? "True" : "False", backend_name(run.attention_family, context.options.gpu));
      text += dtype == "float16" ? "\n" : fmt::format(",{}\n", dtype);
    }
  }
  if (std::count(text.begin(), text.end(), '\n') > 1) context.write(folder / "attention.csv", text);
}

void write_network(const ExportContext& context, const std::string& kind) {
  std::string text = fmt::format(",{}", stats_header(kind));
  text += "rank,num_workers,size,collective,devices_per_node,max_devices_per_node\n";
  std::uint64_t index = 0;
  for (const std::uint64_t ranks : {2u, 4u, 8u, 16u}) {
    const auto measured = [&](const char* family) {
      for (const char* dtype : {"float16", "bfloat16"})
        if (auto samples = context.samples(oracle::collective_key(kind, dtype, ranks, family)); !samples.empty())
          return samples;
      return std::vector<Sample>();
    };
    std::vector<Sample> samples = measured("nccl");
    if (samples.empty()) samples = measured("vllm-custom");
    for (const Sample& sample : samples)
      text += fmt::format("{},{}0,{},{},{},{},{}\n", index++, stats_cells(&sample), ranks, sample.point[0], kind, ranks,
                          std::max<std::uint64_t>(8, ranks));
  }
  std::string node = context.options.gpu;
  for (char& c : node) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (index > 0) context.write(std::filesystem::path("network") / (node + "_dgx") / (kind + ".csv"), text);
}

}  // namespace

void export_vidur(const ExportContext& context) {
  const auto sets = context.source.sets();
  std::string dtype = context.run(context.options.tensor_parallel.front()).dtype;
  const std::filesystem::path folder = std::filesystem::path("compute") / context.options.gpu / context.model.name;
  write_mlp(context, folder, dtype, sets);
  write_attention(context, folder, dtype);
  write_network(context, "all_reduce");
  write_network(context, "send_recv");
}

}  // namespace dooly::import_
