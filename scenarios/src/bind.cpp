#include "bind.hpp"

#include "quantity.hpp"

#include <optional>
#include <utility>

namespace dooly::scenario {
namespace {

std::optional<std::uint64_t> optional_count(const Value& value) {
  return value.is_set ? std::optional(value.count()) : std::nullopt;
}
std::optional<double> optional_number(const Value& value) {
  return value.is_set ? std::optional(value.number) : std::nullopt;
}
std::optional<std::filesystem::path> optional_path(const Value& value) {
  return value.is_set ? std::optional<std::filesystem::path>(value.text) : std::nullopt;
}

Options options(const Value& value) {
  Options made;
  for (const auto& [name, option] : value.members) made.emplace(name, option.text);
  return made;
}

Uniform uniform(const Value& list) {
  if (list.items.size() != 2) return {};
  return {list.items[0].number, list.items[1].number};
}

Distribution distribution(const Value& value) {
  if (!value.is_set || value.members.empty()) return Fixed{1};
  const Value& empirical = value["empirical"];
  const Value& lognormal = value["lognormal"];
  if (value["uniform"].is_set) return uniform(value["uniform"]);
  if (lognormal.is_set && !lognormal.members.empty()) {
    const Value& max = lognormal["max"];
    return Lognormal{lognormal["mean"].number, lognormal["p99"].number, max.number};
  }
  if (empirical.is_set && !empirical.members.empty())
    return Empirical{empirical["path"].text, empirical["column"].text};
  for (const auto& [name, member] : value.members)
    if (name == "zipf" && member.is_set && !member.members.empty())
      return Zipf{member["exponent"].number, member["min"].number, member["max"].number};
  return Fixed{value["fixed"].number};
}

Arrivals arrivals(const Value& value) {
  if (!value.is_set || value.members.empty()) return {};
  const std::string& process = value["process"].text;
  const double rate = value["rate"].number;
  if (process == "gamma") return {Arrivals::Gamma{rate, value["cv"].number}};
  if (process == "constant") return {Arrivals::Constant{rate}};
  if (process == "bursts") return {Arrivals::Bursts{rate, value["size"].count()}};
  if (process == "closed_loop")
    return {Arrivals::ClosedLoop{value["concurrency"].count(), distribution(value["think_time"])}};
  if (process == "replay") return {Arrivals::Replay{value["path"].text}};
  if (process == "at_once") return {Arrivals::AtOnce{}};
  return {Arrivals::Poisson{rate}};
}

std::optional<PrefixGroups> prefix(const Value& value) {
  if (!value.is_set || value.members.empty()) return {};
  return PrefixGroups{value["groups"].count(), value["tokens"].count(), value["share"].number};
}

TraceSpec trace(const Value& value) {
  TraceSpec made;
  made.format = value["format"].text;
  made.path = value["path"].text;
  made.lengths_path = optional_path(value["lengths"]);
  made.speedup = value["speedup"].number;
  made.limit = optional_count(value["limit"]);
  made.loop = value["loop"].count();
  made.too_long = value["too_long"].text == "truncate" ? TraceSpec::TooLong::kTruncate : TraceSpec::TooLong::kReject;
  if (value["arrivals"].is_set) made.arrivals = arrivals(value["arrivals"]);
  made.duration_s = optional_number(value["duration"]);
  return made;
}

SyntheticSpec synthetic(const Value& value) {
  SyntheticSpec made;
  made.requests = optional_count(value["requests"]);
  made.duration_s = optional_number(value["duration"]);
  made.arrivals = arrivals(value["arrivals"]);
  made.prompt_tokens = distribution(value["prompt_tokens"]);
  made.output_tokens = distribution(value["output_tokens"]);
  made.prefix = prefix(value["prefix"]);
  return made;
}

SessionsSpec sessions(const Value& value) {
  SessionsSpec made;
  made.sessions = optional_count(value["sessions"]);
  made.duration_s = optional_number(value["duration"]);
  made.arrivals = arrivals(value["arrivals"]);
  made.turns = distribution(value["turns"]);
  made.think_time_s = distribution(value["think_time"]);
  made.first_prompt = distribution(value["first_prompt"]);
  made.turn_prompt = distribution(value["turn_prompt"]);
  made.output_tokens = distribution(value["output_tokens"]);
  made.prefix = prefix(value["prefix"]);
  return made;
}

Slo limits(const Value& value) {
  return {optional_number(value["ttft"]), optional_number(value["tpot"]), optional_number(value["e2e"])};
}

void bind_slo(const Value& value, WorkloadSpec& made) {
  if (!value.is_set || value.members.empty()) return;
  for (const auto& [name, member] : value.members)
    if (!member.members.empty()) made.class_slo.emplace(name, limits(member));
  const Slo all = limits(value);
  if (!all.is_empty()) made.slo = all;
}

WorkloadSpec workload(const Value& value) {
  WorkloadSpec made;
  if (value.members.empty()) return made;
  made.name = value["name"].text;
  const Value* source = nullptr;
  for (const char* kind : {"trace", "synthetic", "sessions"})
    if (value[kind].is_set && !value[kind].members.empty()) source = &value[kind];
  if (source) {
    if ((*source)["class"].is_set) made.class_name = (*source)["class"].text;
    made.priority = (*source)["priority"].integer;
    if (source == &value["trace"]) made.source = trace(*source);
    if (source == &value["synthetic"]) made.source = synthetic(*source);
    if (source == &value["sessions"]) made.source = sessions(*source);
  }
  bind_slo(value["slo"], made);
  return made;
}

Fabric fabric(const Value& value) {
  Fabric made;
  if (value["topology"].text == "fat_tree") {
    made.topology = Fabric::Topology::kFatTree;
    made.oversubscription = value["oversubscription"].number;
    made.nodes_per_leaf = value["nodes_per_leaf"].count();
  }
  made.link_bytes_per_s = optional_number(value["link"]["bandwidth"]);
  made.link_latency_s = value["link"]["latency"].number;
  return made;
}

NodeGroup node_group(const Value& value) {
  NodeGroup made;
  made.name = value["name"].text;
  made.count = value["count"].count();
  made.gpu = value["gpu"].text;
  made.gpus = value["gpus"].count();
  made.nvlink_bytes_per_s = optional_number(value["nvlink"]);
  made.nvlink_latency_s = optional_number(value["nvlink_latency"]);
  const Value& nics = value["nics"];
  made.nics = {nics["count"].is_set ? nics["count"].count() : made.gpus, nics["bandwidth"].number};
  return made;
}

Cluster cluster(const Value& value) {
  Cluster made;
  if (value.members.empty()) return made;
  made.fabric = fabric(value["fabric"]);
  for (const Value& node : value["nodes"].items) made.nodes.push_back(node_group(node));
  return made;
}

EngineConfig engine(const Value& value) {
  EngineConfig made;
  made.max_model_len = optional_count(value["max_model_len"]);
  made.max_num_batched_tokens = value["max_num_batched_tokens"].count();
  made.max_num_seqs = value["max_num_seqs"].count();
  made.block_size = value["block_size"].count();
  made.kv_cache_dtype = value["kv_cache_dtype"].text;
  made.gpu_memory_utilization = value["gpu_memory_utilization"].number;
  made.num_gpu_blocks_override = optional_count(value["num_gpu_blocks_override"]);
  made.enable_prefix_caching = value["enable_prefix_caching"].boolean;
  made.enable_chunked_prefill = value["enable_chunked_prefill"].boolean;
  made.long_prefill_token_threshold = value["long_prefill_token_threshold"].count();
  made.scheduling_policy = value["scheduling_policy"].text == "priority" ? EngineConfig::SchedulingPolicy::kPriority
                                                                         : EngineConfig::SchedulingPolicy::kFcfs;
  made.scheduler_reserve_full_isl = value["scheduler_reserve_full_isl"].boolean;
  made.watermark = value["watermark"].number;
  made.async_scheduling = value["async_scheduling"].boolean;
  if (const Value& sizes = value["cudagraph_capture_sizes"]; sizes.is_set) {
    made.cudagraph_capture_sizes.emplace();
    for (const Value& size : sizes.items) made.cudagraph_capture_sizes->push_back(size.count());
  }
  made.attention_backend = value["attention_backend"].text;
  return made;
}

NodeRef node_ref(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return {text, {}};
  const auto index = parse_integer(std::string_view(text).substr(dot + 1));
  return {text.substr(0, dot), static_cast<std::uint64_t>(index.value_or(0))};
}

ModelSpec model(const Value& value) {
  if (value.members.empty()) return {};
  ModelSpec made;
  made.config = value["config"].text;
  made.dtype = value["dtype"].text;
  return made;
}

Pool pool(const Value& value) {
  Pool made;
  if (value.members.empty()) return made;
  made.name = value["name"].text;
  const std::string& role = value["role"].text;
  made.role = role == "prefill" ? Pool::Role::kPrefill : role == "decode" ? Pool::Role::kDecode : Pool::Role::kMixed;
  for (const Value& served : value["serves"].items) made.serves.push_back(served.text);
  made.model = model(value["model"]);
  made.replicas = value["replicas"].count();
  for (const Value& node : value["nodes"].items) made.nodes.push_back(node_ref(node.text));
  const Value& parallel = value["parallel"];
  made.parallel = {parallel["tp"].count(), parallel["pp"].count(), parallel["dp"].count(), parallel["ep"].count()};
  made.engine = engine(value["engine"]);
  const Value& scheduler = value["scheduler"];
  made.scheduler = {scheduler["policy"].text, optional_path(scheduler["plugin"]), options(scheduler["options"]),
                    scheduler["grant_output_lengths"].boolean};
  const Value& router = value["router"];
  made.router = {router["policy"].text, optional_path(router["plugin"]), options(router["options"]),
                 router["signal_delay"].number};
  return made;
}

PlatformSpec platform(const Value& value) {
  PlatformSpec made;
  const Value& host = value["host"];
  made.host = host.text;
  if (value["base"].is_set) made.base = value["base"].text;
  for (const auto& [name, term] : host.members) made.terms.emplace(name, term.number);
  return made;
}

OracleSpec oracle(const Value& value) {
  if (value.members.empty()) return RooflineOracleSpec{};
  const std::string& kind = value["kind"].text;
  if (kind == "fixed")
    return FixedOracleSpec{value["base"].number, value["per_token"].number, value["per_1000_context"].number};
  if (kind == "profiled")
    return ProfiledOracleSpec{value["store"].text, {}, value["environment"].text, value["routing"].text};
  if (kind == "plugin") return PluginOracleSpec{value["plugin"].text, value["oracle"].text, options(value["options"])};
  return RooflineOracleSpec{};
}

KvTransferSpec kv_transfer(const Value& value) {
  KvTransferSpec made;
  if (value.is_set && !value.members.empty() && value["first_token"].text == "prefill")
    made.first_token = KvTransferSpec::FirstToken::kPrefill;
  return made;
}

}  // namespace

Scenario bind_scenario(const Value& value, const std::string& default_name) {
  Scenario made;
  if (value.members.empty()) return made;
  made.name = value["name"].is_set ? value["name"].text : default_name;
  made.seed = value["seed"].count();
  for (const Value& member : value["workload"].items) made.workloads.push_back(workload(member));
  made.cluster = cluster(value["cluster"]);
  for (const Value& member : value["pools"].items) made.pools.push_back(pool(member));
  made.kv_transfer = kv_transfer(value["kv_transfer"]);
  made.platform = platform(value["platform"]);
  for (const Value& member : value["oracle"].items) made.oracles.push_back(oracle(member));
  const Value& output = value["output"];
  if (output.members.empty()) return made;
  made.output = {output["requests"].text == "csv", output["iterations"].text == "csv",
                 output["decisions"].text == "jsonl"};
  return made;
}

}  // namespace dooly::scenario
