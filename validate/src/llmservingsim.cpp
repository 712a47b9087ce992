#include "formats.hpp"

#include "file_reader.hpp"
#include "host_fit.hpp"
#include "llmservingsim_run.hpp"
#include "request_comparison.hpp"

#include "oracle/platform.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dooly::validate {
namespace {

constexpr const char* kRequests = "requests";
constexpr const char* kTraces = "traces";

std::filesystem::path traces_of(const Validation& validation) {
  const auto found = validation.options.find(kTraces);
  if (found == validation.options.end())
    throw ValidationError(validation.file.string() + ": measurement.traces: required: the directory of the workloads");
  return data_path(found->second, validation.file);
}

/// The measured engine's arguments win over the scenario's, so that one scenario serves all runs.
scenario::Scenario scenario_of(const Validation& validation, Workbench& workbench, const ServingRun& run) {
  scenario::Scenario scenario =
      workbench.scenario(validation, {"model=" + run.model, fmt::format("tp={}", run.tensor_parallel),
                                      fmt::format("engine.max_num_seqs={}", run.max_num_seqs),
                                      fmt::format("engine.max_num_batched_tokens={}", run.max_num_batched_tokens)});
  if (scenario.pools.size() != 1 || scenario.pools[0].replicas != 1)
    throw ValidationError(validation.file.string() + ": scenario: must have one pool of one replica, as was measured");
  return scenario;
}

/// The scenario's own host times with some replaced.
void set_terms(scenario::Scenario& scenario, const oracle::Platform& own, const HostTerms& terms) {
  scenario.platform.host.clear();
  scenario.platform.terms.clear();
  for (const oracle::PlatformTerm& term : oracle::platform_terms())
    scenario.platform.terms[std::string(term.key)] = oracle::platform_term(own, term.key);
  for (const auto& [term, seconds] : terms) scenario.platform.terms[term] = seconds;
}

double tpot_s(double first_s, double last_s, std::uint32_t output) {
  return output < 2 ? std::numeric_limits<double>::quiet_NaN() : (last_s - first_s) / (output - 1);
}

/// Of the first `count` requests, relative errors of what service takes: from being scheduled to the first token, and a
/// further token.
std::vector<double> residuals_of(const ServingRun& run, const std::vector<SimulatedRequest>& simulated,
                                 std::size_t count) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < count; ++i) {
    const EngineTimes& real = run.times[i];
    const SimulatedRequest& mine = simulated[i];
    residuals.push_back((mine.first_engine_s - mine.scheduled_s) / (real.first_s - real.scheduled_s) - 1);
    if (real.output > 1)
      residuals.push_back(tpot_s(mine.first_engine_s, mine.last_engine_s, mine.output) /
                              tpot_s(real.first_s, real.last_s, real.output) -
                          1);
  }
  for (const double each : residuals)
    if (!std::isfinite(each)) throw std::runtime_error("fit: a request did not complete in the simulation");
  return residuals;
}

std::vector<HostParameter> parameters_of(const Validation& validation, const FitSource& source) {
  std::vector<HostParameter> parameters;
  for (const std::string& word : source.terms) {
    try {
      for (HostParameter& each : host_parameters(word)) parameters.push_back(std::move(each));
    } catch (const std::invalid_argument& error) {
      throw ValidationError(validation.file.string() + ": fit: " + error.what());
    }
  }
  return parameters;
}

std::string fit_note(const FitSource& source, std::size_t count, const HostFit& fit) {
  std::string terms;
  for (const auto& [term, seconds] : fit.terms)
    terms += fmt::format("{}{} {:.3f} ms", terms.empty() ? "" : ", ", term, seconds * 1e3);
  return fmt::format("fitted on the first {} requests of {}: {} ({} runs; mean relative error {:.1f} -> {:.1f} %)",
                     count, source.measurement.filename().string(), terms, fit.runs, 100 * fit.error_before,
                     100 * fit.error_after);
}

/// All requests are sent, as they load the engine; times of the first ones alone are looked at.
HostTerms fit(const Validation& validation, Workbench& workbench, const FitSource& source, Comparison& comparison) {
  const ServingRun run = read_serving_run(source.measurement, traces_of(validation));
  const std::size_t count = std::min<std::size_t>(source.first_requests.value_or(run.times.size()), run.times.size());
  scenario::Scenario scenario = scenario_of(validation, workbench, run);
  const oracle::Platform own = workbench.deploy(validation, scenario).pools[0].platform;
  const HostFit fitted = fit_host_terms(parameters_of(validation, source), [&](const HostTerms& terms) {
    set_terms(scenario, own, terms);
    return residuals_of(run, simulate(scenario, workbench.deploy(validation, scenario), run.traffic), count);
  });
  comparison.notes.push_back(fit_note(source, count, fitted));
  return fitted.terms;
}

void compare_waits(const ServingRun& run, const std::vector<SimulatedRequest>& simulated, Comparison& comparison) {
  Series& queue = comparison.of("parts.queue");
  for (std::size_t i = 0; i < simulated.size(); ++i)
    queue.add(run.times[i].scheduled_s - run.times[i].queued_s, simulated[i].scheduled_s - simulated[i].queued_s);
  Series& prefill = comparison.of("parts.prefill");
  for (std::size_t i = 0; i < simulated.size(); ++i)
    prefill.add(run.times[i].first_s - run.times[i].scheduled_s,
                simulated[i].first_engine_s - simulated[i].scheduled_s);
}

Comparison compare(const Validation& validation, Workbench& workbench) {
  if (validation.clock != Clock::kEngine)
    throw ValidationError(validation.file.string() +
                          ": clock: this format's times are the engine's, so it must be engine");
  const ServingRun run = read_serving_run(validation.measurement, traces_of(validation));
  Comparison comparison;
  HostTerms fitted;
  for (const FitSource& source : validation.fit)
    for (const auto& [term, seconds] : fit(validation, workbench, source, comparison)) fitted[term] = seconds;
  scenario::Scenario scenario = scenario_of(validation, workbench, run);
  sim::Deployment deployment = workbench.deploy(validation, scenario);
  if (!fitted.empty()) {
    set_terms(scenario, deployment.pools[0].platform, fitted);
    deployment = workbench.deploy(validation, scenario);
  }
  const auto simulated = simulate(scenario, std::move(deployment), run.traffic);
  std::vector<RequestTimes> times;
  for (const EngineTimes& each : run.times) times.push_back({each.queued_s, each.first_s, each.last_s, each.output});
  compare_requests(times, simulated, validation.clock, comparison);
  compare_waits(run, simulated, comparison);
  return comparison;
}

}  // namespace

const MeasurementFormat& llmservingsim_format() {
  static constexpr std::array kChecks{
      Named{kRequests, "the requests, sent as they were: TTFT, TPOT, E2E in the engine"}};
  static constexpr std::array kOptions{Named{kTraces, "directory of the workloads that the runs' meta files name"}};
  static constexpr std::array kQuantities{Quantity{"requests.ttft", kRequests}, Quantity{"requests.tpot", kRequests},
                                          Quantity{"requests.e2e", kRequests}, Quantity{"parts.queue", kRequests},
                                          Quantity{"parts.prefill", kRequests}};
  static const MeasurementFormat format{"llmservingsim",
                                        "a run of vLLM that LLMServingSim compares itself with: vllm_meta.json, "
                                        "vllm_requests.jsonl.gz",
                                        kChecks,
                                        kOptions,
                                        kQuantities,
                                        compare};
  return format;
}

}  // namespace dooly::validate
