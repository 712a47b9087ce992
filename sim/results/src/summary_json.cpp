#include "results/summary_json.hpp"

#include <vector>

#include "json_writer.hpp"
#include "results/pool_figures.hpp"

namespace dooly::results {
namespace {

constexpr auto kCompact = JsonWriter::Layout::kCompact;

void write(JsonWriter& json, const ScenarioIdentity& scenario) {
  json.key("scenario").begin_object();
  json.member("name", scenario.name).member("sha256", scenario.sha256).member("seed", scenario.seed);
  json.key("inputs").begin_array();
  for (const InputIdentity& input : scenario.inputs) {
    json.begin_object(kCompact).member("name", input.name).member("sha256", input.sha256).end_object();
  }
  json.end_array().end_object();
}

void write(JsonWriter& json, const RequestCounts& requests) {
  json.key("requests").begin_object(kCompact);
  json.member("submitted", requests.submitted).member("completed", requests.completed);
  json.member("rejected", requests.rejected).member("failed", requests.failed);
  json.member("unfinished", requests.unfinished);
  json.key("reasons").begin_object();
  for (const auto& [text, count] : requests.reasons) json.member(text, count);
  json.end_object().end_object();
}

void write(JsonWriter& json, const TokenCounts& tokens) {
  json.key("tokens").begin_object(kCompact);
  json.member("prompt", tokens.prompt).member("cached", tokens.cached).member("output", tokens.output).end_object();
}

void write(JsonWriter& json, const Throughput& throughput, std::uint64_t gpus) {
  json.key("throughput").begin_object();
  json.member("requests_per_s", throughput.requests_per_s);
  json.member("output_tokens_per_s", throughput.output_tokens_per_s);
  json.member("total_tokens_per_s", throughput.total_tokens_per_s);
  if (gpus > 0) {
    const auto devices = static_cast<double>(gpus);
    json.key("per_gpu").begin_object(kCompact);
    json.member("requests_per_s", throughput.requests_per_s / devices);
    json.member("output_tokens_per_s", throughput.output_tokens_per_s / devices);
    json.member("total_tokens_per_s", throughput.total_tokens_per_s / devices).end_object();
  }
  json.end_object();
}

void write(JsonWriter& json, const char* key, const Distribution& figures) {
  json.key(key).begin_object(kCompact).member("count", figures.count);
  const std::pair<const char*, double> parts[] = {{"mean", figures.mean}, {"std", figures.std}, {"min", figures.min},
                                                  {"p50", figures.p50},   {"p90", figures.p90}, {"p95", figures.p95},
                                                  {"p99", figures.p99},   {"max", figures.max}};
  for (const auto& [name, value] : parts) {
    json.key(name);
    figures.count > 0 ? json.value(value) : json.null();
  }
  json.end_object();
}

void write(JsonWriter& json, const LatencyFigures& latency) {
  write(json, "ttft_s", latency.ttft);
  write(json, "tpot_s", latency.tpot);
  write(json, "itl_s", latency.itl);
  write(json, "e2e_s", latency.e2e);
  write(json, "queue_s", latency.queue);
  const bool exact = latency.ttft.exact && latency.tpot.exact && latency.e2e.exact && latency.queue.exact;
  json.key("percentiles").begin_object(kCompact);
  json.member("per_request", exact ? "exact" : "sketch").member("itl_s", "histogram");
  json.member("relative_error", 0.001).end_object();
}

void write(JsonWriter& json, const Goodput& goodput) {
  json.key("goodput").begin_object(kCompact);
  json.member("requests_per_s", goodput.requests_per_s).member("share", goodput.share).end_object();
}

void write_limit(JsonWriter& json, const char* key, const std::optional<double>& limit) {
  if (limit) json.member(key, *limit);
}

void write(JsonWriter& json, const ClassSummary& one) {
  json.begin_object().member("name", one.name);
  json.key("slo").begin_object(kCompact);
  write_limit(json, "ttft_s", one.slo.ttft_s);
  write_limit(json, "tpot_s", one.slo.tpot_s);
  write_limit(json, "e2e_s", one.slo.e2e_s);
  json.end_object();
  write(json, one.figures.requests);
  write(json, one.figures.tokens);
  write(json, one.figures.throughput, 0);
  write(json, one.figures.latency);
  write(json, one.figures.goodput);
  json.end_object();
}

void write_load(JsonWriter& json, const PoolFigures& load, std::uint64_t kv_blocks) {
  json.key("iterations").begin_object(kCompact);
  json.member("count", load.iterations).member("mean_tokens", load.mean_tokens);
  json.member("mean_requests", load.mean_requests);
  json.key("time_share").begin_object();
  json.member("prefill", load.prefill_share).member("decode", load.decode_share);
  json.member("mixed", load.mixed_share).member("idle", load.idle_share).end_object().end_object();
  json.key("kv").begin_object(kCompact);
  json.member("blocks", kv_blocks).member("peak_share", load.kv_peak_share).member("mean_share", load.kv_mean_share);
  json.member("preemptions", load.preemptions).member("prefix_hit_share", load.prefix_hit_share).end_object();
}

void write(JsonWriter& json, const PoolTotals& pool, double simulated_s) {
  json.begin_object().member("name", pool.name).member("role", pool.role);
  json.member("host", pool.host);
  json.member("gpus", pool.gpus_per_replica * pool.replicas.size());
  write_load(json, pool_figures(pool.replicas, pool.kv_blocks, simulated_s), pool.kv_blocks);
  json.key("replicas").begin_array();
  for (std::size_t i = 0; i < pool.replicas.size(); ++i) {
    json.begin_object(kCompact).member("replica", std::uint64_t{i});
    write_load(json, pool_figures({&pool.replicas[i], 1}, pool.kv_blocks, simulated_s), pool.kv_blocks);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_oracle(JsonWriter& json, const std::vector<PoolTotals>& pools) {
  std::vector<replica::ReplicaStats> sums(pools.size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    for (const replica::ReplicaStats& stats : pools[i].replicas) accumulate(sums[i], stats);
  }
  const OracleFigures oracle = oracle_figures(sums);
  json.key("oracle").begin_object();
  json.key("answers").begin_object(kCompact);
  json.member("measured", oracle.measured).member("interpolated", oracle.interpolated);
  json.member("extrapolated", oracle.extrapolated).member("roofline", oracle.roofline).end_object();
  json.key("stated_error");
  oracle.stated_error ? json.value(*oracle.stated_error) : json.null();
  json.end_object();
}

void write(JsonWriter& json, const NetworkTotals& network) {
  json.key("network").begin_object(kCompact);
  json.member("flows", network.flows).member("bytes", network.bytes);
  json.key("mean_bandwidth");
  network.flow_seconds > 0 ? json.value(network.bytes / network.flow_seconds) : json.null();
  json.member("max_concurrent", network.max_concurrent);
  json.key("transfer_wait_s").begin_object().member("count", network.handed_over);
  json.key("mean");
  network.handed_over > 0 ? json.value(network.wait_seconds / static_cast<double>(network.handed_over)) : json.null();
  json.key("max");
  network.handed_over > 0 ? json.value(network.longest_wait_s) : json.null();
  json.end_object().end_object();
}

}  // namespace

std::string summary_json(const Summary& summary) {
  const RunTotals& run = summary.run;
  JsonWriter json;
  json.begin_object().member("schema", "dooly-summary-1").member("version", run.version);
  if (run.partial) json.key("partial").begin_object(kCompact).member("reason", *run.partial).end_object();
  write(json, run.scenario);
  json.member("simulated_s", run.simulated_s);
  write(json, summary.all.requests);
  write(json, summary.all.tokens);
  json.member("gpus", summary.gpus);
  write(json, summary.all.throughput, summary.gpus);
  write(json, summary.all.latency);
  write(json, summary.all.goodput);
  json.key("classes").begin_array();
  for (const ClassSummary& one : summary.classes) write(json, one);
  json.end_array();
  json.key("pools").begin_array();
  for (const PoolTotals& pool : run.pools) write(json, pool, run.simulated_s);
  json.end_array();
  write_oracle(json, run.pools);
  write(json, run.network);
  json.key("checks").begin_array();
  for (const Check& check : run.checks) {
    json.begin_object(kCompact).member("name", check.name).member("verified", check.detail).end_object();
  }
  json.end_array();
  json.member("saturated", summary.saturated);
  json.key("warnings").begin_array();
  for (const std::string& warning : run.warnings) json.value(warning);
  return json.end_array().end_object().take();
}

}  // namespace dooly::results
