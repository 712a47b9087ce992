#include "environments.hpp"
#include "llmservingsim_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace dooly::import_ {
namespace {

using oracle::Sample;

using ByLayer = std::vector<std::pair<std::string, std::vector<Sample>>>;

ByLayer measured(const ExportContext& context, const std::map<std::string, oracle::OperatorKey>& layers,
                 std::initializer_list<const char*> names, std::uint32_t tp) {
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

/// Batches of at most one prefill chunk, with decodes of one length: what attention.csv holds.
bool on_grid(const Sample& sample) { return sample.point[0] <= 1 && sample.point[5] == 0; }
bool is_skewed(const Sample& sample) { return sample.point[0] <= 1 && sample.point[5] > 0; }

void write_attention(const ExportContext& context, const std::filesystem::path& path,
                     const std::vector<Sample>& samples, std::uint32_t usual) {
  std::vector<Sample> grid;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(grid), on_grid);
  const auto others =
      samples.size() - grid.size() - static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), is_skewed));
  if (others > 0) context.report.left_out["batches of several prefill chunks, which the layout cannot hold"] += others;
  if (grid.empty()) return;
  const MoreColumns more(grid, usual);
  std::string text = fmt::format("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us{}", more.header());
  for (const Sample& sample : grid)
    text += fmt::format("{},{},{},{},{}{}", sample.point[1], sample.point[2], sample.point[3], sample.point[4],
                        us(sample.median_s), more.cells(sample));
  context.write(path, text);
}

struct Bucket {
  double weighted = 0, weight = 0;
  std::uint64_t samples = 0;
};

/// Upstream's buckets, as its own profiles list them.
std::string label(double value, std::initializer_list<std::pair<double, const char*>> edges, const char* beyond) {
  for (const auto& [edge, name] : edges)
    if (value <= edge) return name;
  return beyond;
}
std::string bucket_of(const Sample& sample) {
  const double n = static_cast<double>(sample.point[3]), longer = static_cast<double>(sample.point[5]);
  return fmt::format(
      "{},{},{},{},{}", sample.point[1],
      label(n,
            {{2, "n<=2"},
             {4, "n<=4"},
             {8, "n<=8"},
             {16, "n<=16"},
             {32, "n<=32"},
             {64, "n<=64"},
             {128, "n<=128"},
             {256, "n<=256"}},
            "n>256"),
      label(longer / n, {{0.05, "sr<=5%"}, {0.15, "sr<=15%"}, {0.4, "sr<=40%"}, {0.7, "sr<=70%"}}, "sr>70%"),
      label(static_cast<double>(sample.point[6]), {{1024, "kvB<=1k"}, {4096, "kvB<=4k"}, {16384, "kvB<=16k"}},
            "kvB>16k"),
      label(static_cast<double>(sample.point[2]),
            {{0, "kp=0"}, {512, "kp<=512"}, {1024, "kp<=1k"}, {2048, "kp<=2k"}, {4096, "kp<=4k"}, {8192, "kp<=8k"}},
            "kp>8k"));
}
constexpr const char* kBucketAxes =
    "  bucket_axes:\n    pc: raw pc value (profiled grid point)\n    n_bins: [0, 2, 4, 8, 16, 32, 64, 128, 256, "
    "1000000]\n"
    "    n_labels: [n<=2, n<=4, n<=8, n<=16, n<=32, n<=64, n<=128, n<=256, n>256]\n    skew_rate_bins: [-0.01, 0.05, "
    "0.15, 0.4, 0.7, 1.01]\n"
    "    skew_rate_labels: [sr<=5%, sr<=15%, sr<=40%, sr<=70%, sr>70%]\n    kv_big_bins: [0, 1024, 4096, 16384, "
    "1000000000]\n"
    "    kv_big_labels: [kvB<=1k, kvB<=4k, kvB<=16k, kvB>16k]\n    kp_bins: [-1, 0, 512, 1024, 2048, 4096, 8192, "
    "1000000000]\n"
    "    kp_labels: [kp=0, kp<=512, kp<=1k, kp<=2k, kp<=4k, kp<=8k, kp>8k]\n";

/// skew.csv and the weights fitted to it; returns the lines of meta.yaml about the fit, empty without skewed batches.
std::string write_skew(const ExportContext& context, const std::filesystem::path& folder,
                       const std::vector<Sample>& samples, std::uint32_t usual, std::uint32_t tp) {
  std::map<oracle::SamplePoint, double> grid;
  std::vector<Sample> skewed;
  for (const Sample& sample : samples) {
    if (on_grid(sample))
      grid[sample.point] = sample.median_s;
    else if (is_skewed(sample))
      skewed.push_back(sample);
  }
  if (skewed.empty()) return {};
  const MoreColumns more(skewed, usual);
  std::string text = fmt::format("regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha{}",
                                 more.header());
  std::map<std::string, Bucket> buckets;
  Bucket all;
  for (const Sample& sample : skewed) {
    const auto& p = sample.point;
    const std::uint64_t mean = (p[4] * (p[3] - std::min(p[3], p[5])) + p[6] * p[5]) / p[3];
    const auto at = [&](std::uint64_t context_tokens) {
      const auto found = grid.find({p[0], p[1], p[2], p[3], context_tokens});
      return found == grid.end() ? 0.0 : found->second;
    };
    const double t_mean = at(mean), t_max = at(p[6]), gap = t_max - t_mean;
    const bool known = t_mean > 0 && t_max > 0 && gap != 0;
    const double alpha = known ? (sample.median_s - t_mean) / gap : 0;
    if (known)
      for (Bucket* bucket : {&all, &buckets[bucket_of(sample)]})
        bucket->weighted += alpha * gap * gap, bucket->weight += gap * gap, ++bucket->samples;
    text += fmt::format("{},{},{},{:.4g},{:.4g},{},{},{},{},{},{},{},{},{}{}", p[1] > 0 ? "mixed" : "pure", p[3], p[5],
                        static_cast<double>(p[5]) / static_cast<double>(p[3]),
                        p[4] > 0 ? static_cast<double>(p[6]) / static_cast<double>(p[4]) : 0.0, p[1], p[2], p[4], p[6],
                        mean, t_mean > 0 ? us(t_mean) : "", t_max > 0 ? us(t_max) : "", us(sample.median_s),
                        known ? fmt::format("{:.4f}", alpha) : "nan", more.cells(sample));
  }
  context.write(folder / "skew.csv", text);
  if (all.samples == 0) return {};
  std::string fit = "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples\n";
  for (const auto& [name, bucket] : buckets)
    fit += fmt::format("{},{:.4f},{}\n", name, bucket.weighted / bucket.weight, bucket.samples);
  context.write(folder / "skew_fit.csv", fit, false);
  return fmt::format(
      "    {}:\n      method: per_bucket_wls_5axis\n      n_samples: {}\n      alpha_default: {:.4f}\n      "
      "bucket_table: tp{}/skew_fit.csv\n",
      tp, all.samples, all.weighted / all.weight, tp);
}

}  // namespace

void export_llmservingsim(const ExportContext& context) {
  const ExportOptions& options = context.options;
  const std::string variant = context.run(options.tensor_parallel.front()).dtype == "float16" ? "fp16" : "bf16";
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
    for (const auto& [name, samples] : measured(context, layers, {"attention"}, tp)) {
      write_attention(context, below / "attention.csv", samples, usual);
      fits += write_skew(context, below, samples, usual, tp);
    }
    write_moe({context, below, tp, usual, gpu, layers});
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
  if (!fits.empty()) meta.append("skew_fit:\n  enabled: true\n").append(kBucketAxes).append("  per_tp:\n").append(fits);
  context.write(folder / "meta.yaml", meta, false);
}

}  // namespace dooly::import_
