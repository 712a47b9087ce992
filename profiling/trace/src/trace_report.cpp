#include "profiling_trace/trace_report.hpp"

#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/attribute_check.hpp"
#include "profiling_trace/module_tree.hpp"
#include "profiling_trace/pass_check.hpp"
#include "profiling_trace/pass_clock.hpp"
#include "profiling_trace/resolver.hpp"
#include "profiling_trace/signing.hpp"
#include "profiling_trace/trace_model.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace dooly::profiling {

namespace {

at::ScalarType scalar_type_of(const std::string& dtype) {
  if (dtype == "bfloat16") return at::kBFloat16;
  if (dtype == "float16") return at::kHalf;
  if (dtype == "float32") return at::kFloat;
  throw ProfilingError(fmt::format("dtype '{}': allowed: auto, bfloat16, float16, float32", dtype));
}

/// Shipped models come without the constants that shapes do not need.
ModelFile model_of(const TraceRequestOptions& options) {
  std::error_code ignored;
  const bool is_path = !oracle::is_shipped_model(options.config) && std::filesystem::exists(options.config, ignored);
  ModelFile file = is_path ? load_model(options.config) : ModelFile{oracle::find_model(options.config), {}};
  if (options.layers > file.config.layers.size()) {
    throw ProfilingError(
        fmt::format("layers {}: model {} has {}", options.layers, file.config.name, file.config.layers.size()));
  }
  if (options.layers > 0)
    file.config.layers.erase(file.config.layers.begin() + options.layers, file.config.layers.end());
  return file;
}

std::unique_ptr<Kernels> kernels_of(const TraceRequestOptions& options) {
  if (options.kernels.empty()) return make_torch_kernels();
  if (options.device != "cuda") {
    throw ProfilingError(fmt::format("kernels of '{}': need device cuda, not {}", options.kernels, options.device));
  }
  return make_vllm_kernels(options.kernels, options.backend);
}

constexpr std::uint32_t kGpuBlocks = 16384;  // room for each of the large batches in each group of layers

/// Canonical key -> how often in a step.
using Counts = std::map<std::string, int>;

class Report {
 public:
  explicit Report(const TraceRequestOptions& options) : options_(options), file_(model_of(options)) {
    plan_.backend = options.backend;
    plan_.dtype = options.dtype;
    plan_.tensor_parallel = options.tensor_parallel;
    plan_.block_size = options.block_size;
    settings_.tensor_parallel = options.tensor_parallel;
    settings_.block_size = options.block_size;
    settings_.tracer.config_taint = options.ablation != Ablation::kConfig;
    settings_.tracer.mapping_rules = options.ablation != Ablation::kRules;
    choose_device();
  }

  TraceReport make() {
    step_plan_ = oracle::make_plan(file_.config, plan_);
    settings_.dtype = scalar_type_of(step_plan_.dtype);
    if (options_.ablation != Ablation::kNone) clock_.reset();
    settings_.clock = clock_.get();
    const bool large = settings_.device.is_cuda();
    const Trace prefill = pass(prefill_batch(large));
    report_.text = trace_text(prefill);
    report_.unlabelled = unlabelled_dims(prefill);
    report_.dims = count_dims(prefill);
    json_ = nlohmann::json::parse(trace_json(prefill));
    // Without labels there is nothing to sign and to compare.
    if (options_.ablation == Ablation::kNone && report_.unlabelled.empty()) {
      const Trace decode = pass(decode_batch(large)), mixed = pass(mixed_batch(large));
      add_operations(keys_of(file_.config.mla ? mixed : prefill));  // prompts and decodes have operators of their own
      (void)check(prefill, decode, "decode");
      if (check(prefill, mixed, "mixed")) (void)check(decode, mixed, "mixed after decode");
      if (clock_ != nullptr) cover({{"prefill", &prefill}, {"decode", &decode}, {"mixed", &mixed}});
    }
    report_.text += fmt::format("{} of {} dimensions are unlabelled\n", report_.unlabelled.size(), report_.dims);
    report_.json = json_.dump(1) + "\n";
    return std::move(report_);
  }

 private:
  void choose_device() {
    if (options_.device == "cpu") {
      settings_.device = c10::DeviceType::CPU;
      clock_ = make_cpu_clock();
    } else if (options_.device == "cuda") {
      load_cuda();
      settings_.device = c10::Device(c10::DeviceType::CUDA, 0);
      settings_.each_layer_once = options_.layers == 0 && !options_.every_layer;
      settings_.blocks = kGpuBlocks;
      clock_ = make_cuda_clock();
    } else if (options_.device != "meta") {
      throw ProfilingError(fmt::format("device '{}': allowed: meta, cpu, cuda", options_.device));
    }
    kernels_ = kernels_of(options_);
  }

  Trace pass(std::vector<TraceRequest> batch) {
    settings_.batch = std::move(batch);
    return trace_model(file_.config, file_.numbers, *kernels_, settings_);
  }

  SignedTrace keys_of(const Trace& trace) const {
    return sign(trace, plan_families(file_.config, options_.backend, options_.tensor_parallel));
  }

  void cover(const std::vector<std::pair<std::string_view, const Trace*>>& passes) {
    report_.coverage = 1;
    for (const auto& [name, trace] : passes) {
      const SignedTrace keys = keys_of(*trace);
      const Resolution resolution = resolve(*trace, keys, replay_runner(*trace));
      for (std::string& line : family_findings(*trace, keys))
        if (std::find(report_.families.begin(), report_.families.end(), line) == report_.families.end())
          report_.families.push_back(std::move(line));
      for (std::string& line : forgotten_attributes(*trace, keys))
        report_.forgotten.push_back(fmt::format("{} pass: {}", name, std::move(line)));
      report_.coverage = std::min(*report_.coverage, resolution.coverage);
      const double total = resolution.total_seconds;
      const double above = total > 0 ? resolution.above_operator_seconds / total : 0;
      report_.above_operator = std::max(report_.above_operator, above);
      const auto shares = shares_of(*trace, keys, total);
      report_.text += fmt::format("{} pass, {} tokens: {}  {}\n", name, trace->binding.at("num_tokens"),
                                  resolution_text(*trace, resolution), shares_text(shares));
      nlohmann::json row = {
          {"pass", name}, {"seconds", total}, {"coverage", resolution.coverage}, {"above_operator", above}};
      for (const auto& [kind, share] : shares) row["shares"][kind] = share;
      if (!trace->outside.empty()) row["outside"] = trace->outside;
      json_["timed"].push_back(std::move(row));
    }
    for (const std::string& line : report_.families) report_.text += "kernels: " + line + "\n";
    for (const std::string& line : report_.forgotten) report_.text += "attributes: " + line + "\n";
    json_["families"] = report_.families;
    json_["forgotten_attributes"] = report_.forgotten;
    json_["coverage"] = *report_.coverage;
    json_["above_operator"] = report_.above_operator;
  }

  using Shares = std::map<std::string, double>;
  static Shares shares_of(const Trace& trace, const SignedTrace& keys, double total) {
    Shares shares;
    if (total <= 0) return shares;
    for (const SignedOperation& operation : keys.operations) {
      double seconds = 0;
      for (const std::size_t op : operation.operators) seconds += trace.operators[op].seconds;
      shares[operation.key.kind] += seconds / total;
    }
    return shares;
  }

  static std::string shares_text(const Shares& shares) {
    std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text = "shares:";
    for (const auto& [kind, share] : sorted) text += fmt::format(" {} {:.1f} %", kind, 100 * share);
    return text;
  }

  void add_operations(const SignedTrace& keys) {
    Counts counts;
    std::vector<std::pair<std::string, std::string>> order;  // key, signature
    for (const SignedOperation& operation : keys.operations) {
      const std::string key = oracle::canonical_json(operation.key);
      int& count = counts[key];
      if (count == 0) order.emplace_back(key, operation.signature.hex());
      count += static_cast<int>(operation.times);
    }
    report_.text += "operations of the step:\n";
    for (const auto& [key, signature] : order) {
      report_.text += fmt::format("  {:.12} {:4} times {}\n", signature, counts[key], key);
      json_["operations"].push_back(
          {{"signature", signature}, {"times", counts[key]}, {"key", nlohmann::json::parse(key)}});
    }
    compare_with_plan(std::move(counts));
  }

  void compare_with_plan(Counts counts) {
    for (const oracle::PlanEntry& entry : step_plan_.entries) {
      counts[oracle::canonical_json(entry.key)] -= static_cast<int>(entry.count);
    }
    for (const auto& [key, more] : counts) {
      if (more != 0) {
        report_.not_planned.push_back(
            fmt::format("{} {} times {} than planned", key, std::abs(more), more > 0 ? "more" : "less"));
      }
    }
    json_["not_planned"] = report_.not_planned;
    report_.text += report_.not_planned.empty() ? "equal to the step plan\n" : "not equal to the step plan:\n";
    for (const std::string& line : report_.not_planned) report_.text += "  " + line + "\n";
  }

  /// Whether there are parts that it could not compare.
  bool check(const Trace& first, const Trace& second, std::string_view name) {
    const PassCheck found = check_passes(first, second);
    report_.text += fmt::format(
        "{} pass: {} dimensions that the request decides and {} of the model as labelled, "
        "{} contradictions\n",
        name, found.request_dims, found.model_dims, found.contradictions.size());
    for (const std::string& line : found.contradictions) report_.text += "  " + line + "\n";
    for (const std::string& line : found.branches) report_.text += "  branch: " + line + "\n";
    report_.contradictions.insert(report_.contradictions.end(), found.contradictions.begin(),
                                  found.contradictions.end());
    json_["passes"].push_back({{"pass", name},
                               {"request_dims", found.request_dims},
                               {"model_dims", found.model_dims},
                               {"contradictions", found.contradictions},
                               {"branches", found.branches}});
    return !found.alone.empty();
  }

  const TraceRequestOptions& options_;
  ModelFile file_;
  oracle::PlanSettings plan_;
  oracle::StepPlan step_plan_;
  std::unique_ptr<PassClock> clock_;
  std::unique_ptr<Kernels> kernels_;
  TraceSettings settings_;
  nlohmann::json json_;
  TraceReport report_;
};

}  // namespace

TraceReport report_trace(const TraceRequestOptions& options) { return Report(options).make(); }

}  // namespace dooly::profiling
