#include "environments.hpp"
#include "importer.hpp"
#include "oracle/operator_keys.hpp"
#include "vidur_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dooly::import_ {
namespace {

using oracle::Sample;

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
    const ByRows writes = by_rows(context.samples(
        beside_attention(oracle::kv_write_key(run.dtype, run.kv_dtype, key.dims[1], key.dims[2], run.block_size),
                         run.attention_family)));
    const VidurShape shape = shape_of(context.model, tp);
    for (const Sample& sample : samples) {
      const auto& p = sample.point;
      const bool prefill = p[0] > 0;
      if ((prefill && p[3] > 0) || p[5] > 0) {
        ++context.report
              .left_out["batches of prefill and decode, or of several context lengths, which the layout cannot hold"];
        continue;
      }
      if (p[0] > 1) {
        ++context.report.left_out["prefills of several prompts, which Vidur would take for one"];
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

std::string backend_name(const std::string& family, const std::string& gpu) {
  if (family == "flashinfer") return "AttentionBackend.FLASHINFER";
  if (family_word("FLASH_ATTENTION", gpu_name(gpu)) == family) return "AttentionBackend.FLASH_ATTENTION";
  std::string word = family;
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "AttentionBackend." + word;
}

void export_vidur(const ExportContext& context) {
  const std::string dtype = context.run(context.options.tensor_parallel.front()).dtype;
  const std::filesystem::path folder = std::filesystem::path("compute") / context.options.gpu / context.model.name;
  write_vidur_mlp(context, folder, dtype);
  write_attention(context, folder, dtype);
  write_network(context, "all_reduce");
  write_network(context, "send_recv");
  // Collectives are no model's: those of an earlier export stay.
  context.remove_stale(folder, {"mlp.csv", "attention.csv"});
}

}  // namespace dooly::import_
