#include "formats.hpp"

#include "engine_log.hpp"
#include "engine_log_checks.hpp"
#include "request_comparison.hpp"

#include "oracle/cuda_graphs.hpp"
#include "validate/traffic.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dooly::validate {
namespace {

constexpr const char* kIterations = "iterations";
constexpr const char* kDecisions = "decisions";
constexpr const char* kRequests = "requests";

Traffic traffic_of(const EngineLog& log) {
  Traffic traffic{.requests = {}, .clients = log.clients};
  for (const LoggedRequest& request : log.requests)
    traffic.requests.push_back({.sent_s = request.sent_s,
                                .prompt = request.prompt,
                                .output = request.output,
                                .prefix_group = request.prefix_group,
                                .prefix_tokens = request.prefix_tokens});
  return traffic;
}

std::vector<RequestTimes> times_of(const EngineLog& log) {
  std::vector<RequestTimes> all;
  for (const LoggedRequest& each : log.requests) all.push_back({each.sent_s, each.first_s, each.done_s, each.output});
  return all;
}

std::vector<RequestParts> parts_of(const EngineLog& log) {
  std::vector<RequestParts> all;
  for (const LoggedRequest& each : log.requests)
    all.push_back({.queue_s = each.scheduled_engine_s - each.sent_s,
                   .prefill_s = each.first_engine_s - each.scheduled_engine_s,
                   .delivery_s = each.first_s - each.first_engine_s,
                   .decode_s = each.output < 2 ? std::numeric_limits<double>::quiet_NaN()
                                               : (each.last_engine_s - each.first_engine_s) / (each.output - 1)});
  return all;
}

/// What the run says of its engine and the scenario must agree with: the scenario is told once for many runs.
void check_engine(const Validation& validation, const EngineLog& log, const sim::PoolDeployment& pool) {
  if (validation.clock == Clock::kEngine)
    throw ValidationError(validation.file.string() +
                          ": clock: this format's requests are sent by a client, so it must be client");
  if (pool.engine.async_scheduling == log.is_async) return;
  throw ValidationError(
      fmt::format("{}: scenario: engine.async_scheduling: the measured engine has {}, the scenario {}",
                  validation.file.string(), log.is_async, pool.engine.async_scheduling));
}

oracle::CudaGraphs graphs_of(const scenario::Pool& spec, const replica::EngineConfig& engine) {
  const auto& given = spec.engine.cudagraph_capture_sizes;
  if (!given)
    return oracle::CudaGraphs(oracle::CudaGraphs::default_sizes(engine.max_num_seqs, engine.max_num_batched_tokens));
  std::vector<std::uint32_t> sizes;
  for (const std::uint64_t size : *given) sizes.push_back(static_cast<std::uint32_t>(size));
  return oracle::CudaGraphs(std::move(sizes));
}

Comparison compare(const Validation& validation, Workbench& workbench) {
  const bool needs_iterations = validation.wants(kIterations) || validation.wants(kDecisions);
  const EngineLog log = read_engine_log(validation.measurement, needs_iterations);
  scenario::Scenario scenario = workbench.scenario(validation);
  if (scenario.pools.size() != 1 || scenario.pools[0].replicas != 1)
    throw ValidationError(validation.file.string() + ": scenario: must have one pool of one replica, as was measured");
  sim::Deployment deployment = workbench.deploy(validation, scenario);
  check_engine(validation, log, deployment.pools[0]);
  Comparison comparison;
  comparison.of("memory.kv_blocks", Unit::kPlain).add(log.blocks, deployment.pools[0].engine.num_blocks);
  if (log.free_blocks) {
    scenario.pools[0].engine.num_gpu_blocks_override = log.usable_blocks();
    deployment = workbench.deploy(validation, scenario);
  }
  const sim::PoolDeployment& pool = deployment.pools[0];
  if (validation.wants(kDecisions)) compare_decisions(log, pool, comparison);
  if (validation.wants(kIterations))
    compare_iterations(log, *pool.oracle, graphs_of(scenario.pools[0], pool.engine), comparison);
  if (validation.wants(kRequests)) {
    const auto simulated = simulate(scenario, std::move(deployment), traffic_of(log));
    compare_requests(times_of(log), simulated, validation.clock, comparison);
    compare_parts(parts_of(log), simulated, comparison);
  }
  return comparison;
}

}  // namespace

const MeasurementFormat& vllm_h200_groundtruth_format() {
  static constexpr std::array kChecks{
      Named{kDecisions, "the log's arrivals and times give the log's scheduling decisions"},
      Named{kIterations, "every logged batch's time on the GPU, and the host's terms"},
      Named{kRequests, "the requests, sent as they were, through the simulator: TTFT, TPOT, E2E"}};
  static constexpr std::array kQuantities{Quantity{"memory.kv_blocks", {}},
                                          Quantity{"decisions.batches", kDecisions, true},
                                          Quantity{"decisions.free_blocks", kDecisions, true},
                                          Quantity{"decisions.preempted", kDecisions, true},
                                          Quantity{"decode_only.gpu", kIterations},
                                          Quantity{"decode_only.alone", kIterations},
                                          Quantity{"decode_only.kernels", kIterations},
                                          Quantity{"mixed_large.gpu", kIterations},
                                          Quantity{"mixed_large.alone", kIterations},
                                          Quantity{"mixed_large.kernels", kIterations},
                                          Quantity{"mixed_small.gpu", kIterations},
                                          Quantity{"mixed_small.alone", kIterations},
                                          Quantity{"mixed_small.kernels", kIterations},
                                          Quantity{"prefill.gpu", kIterations},
                                          Quantity{"prefill.alone", kIterations},
                                          Quantity{"prefill.kernels", kIterations},
                                          Quantity{"terms.schedule", kIterations},
                                          Quantity{"terms.launch_full", kIterations},
                                          Quantity{"terms.launch_piecewise", kIterations},
                                          Quantity{"terms.launch_none", kIterations},
                                          Quantity{"terms.sample", kIterations},
                                          Quantity{"terms.update", kIterations},
                                          Quantity{"terms.delivery", kIterations},
                                          Quantity{"terms.input", kIterations},
                                          Quantity{"requests.ttft", kRequests},
                                          Quantity{"requests.tpot", kRequests},
                                          Quantity{"requests.e2e", kRequests},
                                          Quantity{"parts.queue", kRequests},
                                          Quantity{"parts.prefill", kRequests},
                                          Quantity{"parts.delivery", kRequests},
                                          Quantity{"parts.decode", kRequests}};
  static const MeasurementFormat format{"vllm-h200-groundtruth",
                                        "a run of vLLM with every iteration: PATH.run.json, PATH.requests.jsonl.gz, "
                                        "PATH.iterations.jsonl.gz, engine.json",
                                        kChecks,
                                        {},
                                        kQuantities,
                                        compare};
  return format;
}

}  // namespace dooly::validate
