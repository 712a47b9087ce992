#include "environments.hpp"
#include "llmservingsim_writer.hpp"
#include "numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace dooly::import_ {
namespace {

using oracle::Sample;

using ByLayer = std::vector<std::pair<std::string, std::vector<Sample>>>;

ByLayer measured(const ExportContext& context, const Layers& layers, std::initializer_list<const char*> names,
                 std::uint32_t tp) {
  ByLayer found;
  for (const char* name : names) {
    const auto layer = layers.find(name);
    if (layer == layers.end()) continue;
    auto samples = context.samples(layer->second);
    if (samples.empty())
      context.missing(fmt::format("{} (tp{})", name, tp));
    else
      found.emplace_back(name, std::move(samples));
  }
  return found;
}

std::uint32_t usual_count(const std::vector<Sample>& samples) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Sample& sample : samples) ++counts[sample.count];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 1 : most->first;
}

void write_layers(const ExportContext& context, const std::filesystem::path& path, const char* rows_name,
                  const ByLayer& layers, std::uint32_t usual) {
  if (layers.empty()) return;
  std::vector<Sample> all;
  for (const auto& [name, samples] : layers) all.insert(all.end(), samples.begin(), samples.end());
  const MoreColumns more(all, usual);
  std::string text = fmt::format("layer,{},time_us{}", rows_name, more.header());
  for (const auto& [name, samples] : layers)
    for (const Sample& sample : samples)
      text += fmt::format("{},{},{}{}", name, sample.point[0], us(sample.median_s), more.cells(sample));
  context.write(path, text);
}

std::string variant_name(const std::string& dtype) {
  if (dtype == "bfloat16") return "bf16";
  if (dtype == "float16") return "fp16";
  return dtype == "float32" ? "fp32" : dtype;
}

/// Of degrees that are exported no longer too; folders that are empty then go as well.
void remove_stale(const ExportContext& context, const std::filesystem::path& folder) {
  if (!context.options.replace || context.report.rows == 0) return;
  std::vector<std::string> below;
  for (const auto& entry : std::filesystem::directory_iterator(context.directory / folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("tp") && whole_number(std::string_view(name).substr(2)) && !entry.is_symlink() &&
        entry.is_directory())
      below.push_back(name);
  }
  std::sort(below.begin(), below.end());
  for (const std::string& tp : below) {
    std::vector<std::string> names;
    for (const char* table : {"dense", "per_sequence", "attention", "attention_off_grid", "moe", "skew", "skew_fit"})
      names.push_back(fmt::format("{}/{}.csv", tp, table));
    context.remove_stale(folder, names);
    std::error_code not_empty;
    std::filesystem::remove(context.directory / folder / tp, not_empty);
  }
}

}  // namespace

void export_llmservingsim(const ExportContext& context) {
  const ExportOptions& options = context.options;
  const std::string variant = variant_name(context.run(options.tensor_parallel.front()).dtype);
  const std::filesystem::path folder = std::filesystem::path(options.gpu) / context.model.name / variant;
  const oracle::Gpu* gpu = known_gpu(gpu_name(options.gpu));
  std::string fits, family, dtype;
  // One figure for all folders: meta.yaml has one.
  std::vector<Sample> every;
  for (const std::uint32_t tp : options.tensor_parallel)
    for (const auto& [name, key] : model_layers(context.run(tp)))
      for (const Sample& sample : context.source.samples(signature_of(key))) every.push_back(sample);
  const std::uint32_t usual = usual_count(every);
  for (const std::uint32_t tp : options.tensor_parallel) {
    const ModelRun run = context.run(tp);
    family = run.attention_family, dtype = run.dtype;
    const Layers layers = model_layers(run);
    const std::filesystem::path below = folder / fmt::format("tp{}", tp);
    write_layers(context, below / "dense.csv", "tokens",
                 measured(context, layers,
                          {"act_fn", "down_proj", "embedding", "final_layernorm", "gate_up_proj", "layernorm", "o_proj",
                           "qk_norm", "qkv_proj", "rotary_emb"},
                          tp),
                 usual);
    write_layers(context, below / "per_sequence.csv", "sequences",
                 measured(context, layers, {"lm_head", "sampler"}, tp), usual);
    const TensorParallelFolder here{context, below, tp, usual, gpu, layers};
    fits += write_attention(here);
    write_moe(here);
  }
  const auto equals = options.engine.find('=');
  std::string engine = equals == std::string::npos ? std::string()
                                                   : fmt::format("{}_version: {}\n", options.engine.substr(0, equals),
                                                                 options.engine.substr(equals + 1));
  if (!options.cuda.empty()) engine += fmt::format("cuda_version: {}\n", options.cuda);
  std::string meta = fmt::format(
      "profiler_version: dooly\n{}gpu: {}\nhardware: {}\nmodel: {}\nvariant: {}\ntp_degrees: [{}]\nengine_effective:\n"
      "  block_size: {}\n  attention_backend: {}\n  dtype: {}\nmeasurement_iterations: {}\n",
      engine, options.gpu, options.gpu, context.model.name, variant, fmt::join(options.tensor_parallel, ", "),
      options.block_size, family, dtype, usual);
  if (!fits.empty()) meta += skew_fit_head() + fits;
  context.write(folder / "meta.yaml", meta, false);
  remove_stale(context, folder);
}

}  // namespace dooly::import_
