#include "profiling_trace/trace_report.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/module_tree.hpp"
#include "profiling_trace/pass_check.hpp"
#include "profiling_trace/resolver.hpp"
#include "profiling_trace/signing.hpp"
#include "profiling_trace/trace_model.hpp"

#include "oracle/step_plan.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <utility>

namespace dooly::profiling {

namespace {

double timed(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

at::ScalarType scalar_type_of(const std::string& dtype) {
  if (dtype == "bfloat16") return at::kBFloat16;
  if (dtype == "float16") return at::kHalf;
  if (dtype == "float32") return at::kFloat;
  throw ProfilingError(fmt::format("dtype '{}': allowed: bfloat16, float16, float32", dtype));
}

/// Canonical key -> how often in a step.
using Counts = std::map<std::string, int>;

class Report {
 public:
  explicit Report(const TraceRequestOptions& options) : options_(options), file_(load_model(options.config)) {
    settings_.dtype = scalar_type_of(options.dtype);
    settings_.tensor_parallel = options.tensor_parallel;
    settings_.block_size = options.block_size;
    if (options.run) {
      settings_.device = c10::DeviceType::CPU;
      settings_.tracer.timer = timed;
    }
  }

  TraceReport make() {
    const Trace trace = pass(prefill_batch());
    const SignedTrace keys = sign(trace, plan_families(file_.config, options_.backend, options_.tensor_parallel));
    report_.text = trace_text(trace);
    report_.json = trace_json(trace);
    report_.unlabelled = unlabelled_dims(trace);
    add_operations(keys);
    settings_.tracer.timer = nullptr;
    check(trace, pass(decode_batch()), "decode");
    check(trace, pass(mixed_batch()), "mixed");
    if (options_.run) {
      const Resolution resolution = resolve(trace, keys, replay_runner(trace));
      report_.coverage = resolution.coverage;
      report_.text += resolution_text(trace, resolution);
    }
    return std::move(report_);
  }

 private:
  Trace pass(std::vector<TraceRequest> batch) {
    settings_.batch = std::move(batch);
    return trace_model(file_.config, file_.numbers, *kernels_, settings_);
  }

  void add_operations(const SignedTrace& keys) {
    Counts counts;
    std::vector<std::pair<std::string, std::string>> order;  // key, signature
    for (const SignedOperation& operation : keys.operations) {
      const std::string key = oracle::canonical_json(operation.key);
      if (counts[key]++ == 0) order.emplace_back(key, operation.signature.hex());
    }
    report_.text += "operations of the step:\n";
    for (const auto& [key, signature] : order) {
      report_.text += fmt::format("  {:.12} {:4} times {}\n", signature, counts[key], key);
    }
    compare_with_plan(std::move(counts));
  }

  void compare_with_plan(Counts counts) {
    oracle::PlanSettings plan;
    plan.backend = options_.backend;
    plan.dtype = options_.dtype;
    plan.tensor_parallel = options_.tensor_parallel;
    plan.block_size = options_.block_size;
    for (const oracle::PlanEntry& entry : oracle::make_plan(file_.config, plan).entries) {
      counts[oracle::canonical_json(entry.key)] -= static_cast<int>(entry.count);
    }
    for (const auto& [key, more] : counts) {
      if (more != 0) {
        report_.not_planned.push_back(
            fmt::format("{} {} times {} than planned", key, std::abs(more), more > 0 ? "more" : "less"));
      }
    }
    report_.text += report_.not_planned.empty() ? "equal to the step plan\n" : "not equal to the step plan:\n";
    for (const std::string& line : report_.not_planned) report_.text += "  " + line + "\n";
  }

  void check(const Trace& first, const Trace& second, std::string_view name) {
    const PassCheck found = check_passes(first, second);
    report_.text += fmt::format(
        "{} pass: {} dimensions that the request decides and {} of the model as labelled, "
        "{} contradictions\n",
        name, found.request_dims, found.model_dims, found.contradictions.size());
    for (const std::string& line : found.contradictions) report_.text += "  " + line + "\n";
    for (const std::string& line : found.branches) report_.text += "  branch: " + line + "\n";
    report_.contradictions.insert(report_.contradictions.end(), found.contradictions.begin(),
                                  found.contradictions.end());
  }

  const TraceRequestOptions& options_;
  ModelFile file_;
  std::unique_ptr<Kernels> kernels_ = make_torch_kernels();
  TraceSettings settings_;
  TraceReport report_;
};

}  // namespace

TraceReport report_trace(const TraceRequestOptions& options) { return Report(options).make(); }

}  // namespace dooly::profiling
