#include "tree.hpp"

#include "quantity.hpp"

#include "scenarios/find_store.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace dooly::scenario {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// Builds one map, member by member.
class Map {
 public:
  Map& put(std::string_view key, Node value) {
    node_.add(std::string(key), std::move(value));
    return *this;
  }
  Map& put(std::string_view key, Map value) { return put(key, std::move(value.node_)); }
  Map& text(std::string_view key, const std::string& value) {
    Node node = Node::scalar({}, value);
    node.quoted = true;
    return put(key, std::move(node));
  }
  Map& word(std::string_view key, std::string_view value) { return put(key, plain(std::string(value))); }
  Map& count(std::string_view key, std::uint64_t value) { return put(key, plain(std::to_string(value))); }
  Map& number(std::string_view key, double value) { return put(key, plain(print_number(value))); }
  Map& time(std::string_view key, double value) { return put(key, plain(print_quantity(value, Dimension::kTime))); }
  Map& rate(std::string_view key, double value) { return put(key, plain(print_quantity(value, Dimension::kRate))); }
  Map& bandwidth(std::string_view key, double value) {
    return put(key, plain(print_quantity(value, Dimension::kBandwidth)));
  }
  Map& yes_no(std::string_view key, bool value) { return word(key, value ? "true" : "false"); }
  Node take() { return std::move(node_); }

  static Node plain(std::string text) { return Node::scalar({}, std::move(text)); }

 private:
  Node node_ = Node::map({});
};

/// Writes a scenario piece by piece; the order of keys is that of the reference page.
class TreeWriter {
 public:
  explicit TreeWriter(const PathText& path_text) : path_text_(path_text) {}

  Node scenario(const Scenario& from) const {
    Map map;
    map.word("dooly", "1").text("name", from.name).count("seed", from.seed);
    Node workloads = Node::list({});
    for (const WorkloadSpec& workload : from.workloads) workloads.items.push_back(workload_tree(workload));
    map.put("workload", std::move(workloads)).put("cluster", cluster(from.cluster));
    Node pools = Node::list({});
    for (const Pool& each : from.pools) pools.items.push_back(pool(each));
    map.put("pools", std::move(pools));
    if (std::any_of(from.pools.begin(), from.pools.end(),
                    [](const Pool& each) { return each.role == Pool::Role::kPrefill; }))
      map.put("kv_transfer", kv_transfer(from.kv_transfer));
    map.put("platform", platform(from.platform));
    Node oracles = Node::list({});
    for (const OracleSpec& each : from.oracles) oracles.items.push_back(oracle(each));
    map.put("oracle", std::move(oracles)).put("faults", Node::list({})).put("output", output(from.output));
    return map.take();
  }

 private:
  void path(Map& map, std::string_view key, const std::filesystem::path& value) const {
    map.text(key, path_text_(value));
  }
  void optional_path(Map& map, std::string_view key, const std::optional<std::filesystem::path>& value) const {
    if (value) {
      path(map, key, *value);
    } else {
      map.word(key, "null");
    }
  }
  static void optional_count(Map& map, std::string_view key, const std::optional<std::uint64_t>& value,
                             std::string_view unset = "null") {
    if (value) {
      map.count(key, *value);
    } else {
      map.word(key, unset);
    }
  }
  static void optional_time(Map& map, std::string_view key, const std::optional<double>& value) {
    if (value) {
      map.time(key, *value);
    } else {
      map.word(key, "null");
    }
  }
  static void optional_bandwidth(Map& map, std::string_view key, const std::optional<double>& value) {
    if (value) {
      map.bandwidth(key, *value);
    } else {
      map.word(key, "default");
    }
  }

  Map distribution(const Distribution& law, Dimension dimension) const {
    const auto value = [&](double number) {
      return Map::plain(dimension == Dimension::kNone ? print_number(number) : print_quantity(number, dimension));
    };
    return std::visit(
        Overloaded{
            [&](const Fixed& each) { return std::move(Map().put("fixed", value(each.value))); },
            [&](const Uniform& each) {
              Node ends = Node::list({});
              ends.items = {value(each.low), value(each.high)};
              return std::move(Map().put("uniform", std::move(ends)));
            },
            [&](const Lognormal& each) {
              Map inner;
              inner.put("mean", value(each.mean)).put("p99", value(each.p99)).put("max", value(each.max));
              return std::move(Map().put("lognormal", std::move(inner)));
            },
            [&](const Zipf& each) {
              Map inner;
              inner.number("exponent", each.exponent).put("min", value(each.low)).put("max", value(each.high));
              return std::move(Map().put("zipf", std::move(inner)));
            },
            [&](const Empirical& each) {
              Map inner;
              path(inner, "path", each.path);
              if (each.column.empty()) {
                inner.word("column", "null");
              } else {
                inner.text("column", each.column);
              }
              return std::move(Map().put("empirical", std::move(inner)));
            },
        },
        law);
  }
  Map lengths(const Distribution& law) const { return distribution(law, Dimension::kNone); }
  Map times(const Distribution& law) const { return distribution(law, Dimension::kTime); }

  Map arrivals(const Arrivals& from) const {
    Map map;
    std::visit(Overloaded{
                   [&](const PoissonArrivals& each) { map.word("process", "poisson").rate("rate", each.rate_per_s); },
                   [&](const GammaArrivals& each) {
                     map.word("process", "gamma").rate("rate", each.rate_per_s).number("cv", each.cv);
                   },
                   [&](const ConstantArrivals& each) { map.word("process", "constant").rate("rate", each.rate_per_s); },
                   [&](const BurstArrivals& each) {
                     map.word("process", "bursts").rate("rate", each.rate_per_s).count("size", each.size);
                   },
                   [&](const ClosedLoopArrivals& each) {
                     map.word("process", "closed_loop").count("concurrency", each.concurrency);
                     map.put("think_time", times(each.think_time_s));
                   },
                   [&](const ReplayArrivals& each) {
                     map.word("process", "replay");
                     path(map, "path", each.path);
                   },
                   [&](const AtOnceArrivals&) { map.word("process", "at_once"); },
               },
               from.process);
    return map;
  }

  static void prefix(Map& map, const std::optional<PrefixGroups>& from) {
    if (!from) return;
    Map inner;
    inner.count("groups", from->groups).count("tokens", from->tokens).number("share", from->share);
    map.put("prefix", std::move(inner));
  }

  Map source(const TraceSpec& from) const {
    Map map;
    map.word("format", from.format);
    path(map, "path", from.path);
    if (from.lengths_path) path(map, "lengths", *from.lengths_path);
    map.number("speedup", from.speedup);
    optional_count(map, "limit", from.limit);
    map.count("loop", from.loop);
    optional_time(map, "duration", from.duration_s);
    map.word("too_long", from.too_long == TraceSpec::TooLong::kTruncate ? "truncate" : "reject");
    if (from.arrivals) map.put("arrivals", arrivals(*from.arrivals));
    return map;
  }
  Map source(const SyntheticSpec& from) const {
    Map map;
    optional_count(map, "requests", from.requests);
    optional_time(map, "duration", from.duration_s);
    map.put("arrivals", arrivals(from.arrivals));
    map.put("prompt_tokens", lengths(from.prompt_tokens)).put("output_tokens", lengths(from.output_tokens));
    prefix(map, from.prefix);
    return map;
  }
  Map source(const SessionsSpec& from) const {
    Map map;
    optional_count(map, "sessions", from.sessions);
    optional_time(map, "duration", from.duration_s);
    map.put("arrivals", arrivals(from.arrivals));
    map.put("turns", lengths(from.turns)).put("think_time", times(from.think_time_s));
    map.put("first_prompt", lengths(from.first_prompt)).put("turn_prompt", lengths(from.turn_prompt));
    map.put("output_tokens", lengths(from.output_tokens));
    prefix(map, from.prefix);
    return map;
  }

  static void limits(Map& map, const Slo& from) {
    optional_time(map, "ttft", from.ttft_s);
    optional_time(map, "tpot", from.tpot_s);
    optional_time(map, "e2e", from.e2e_s);
  }

  Node workload_tree(const WorkloadSpec& from) const {
    constexpr std::string_view kKinds[] = {"trace", "synthetic", "sessions"};
    Map inner = std::visit([&](const auto& each) { return source(each); }, from.source);
    if (from.class_name) {
      inner.text("class", *from.class_name);
    } else {
      inner.word("class", "null");
    }
    inner.word("priority", std::to_string(from.priority));
    Map map;
    map.text("name", from.name).put(kKinds[from.source.index()], std::move(inner));
    Map slo;
    limits(slo, from.slo.value_or(Slo{}));
    for (const auto& [name, each] : from.class_slo) {
      Map of_class;
      limits(of_class, each);
      slo.put(name, std::move(of_class));
    }
    return map.put("slo", std::move(slo)).take();
  }

  Map cluster(const Cluster& from) const {
    Map fabric, link, map;
    const bool is_tree = from.fabric.topology == Fabric::Topology::kFatTree;
    optional_bandwidth(link, "bandwidth", from.fabric.link_bytes_per_s);
    link.time("latency", from.fabric.link_latency_s);
    fabric.word("topology", is_tree ? "fat_tree" : "star").put("link", std::move(link));
    if (is_tree) {
      fabric.number("oversubscription", from.fabric.oversubscription);
      fabric.count("nodes_per_leaf", from.fabric.nodes_per_leaf);
    }
    Node nodes = Node::list({});
    for (const NodeGroup& group : from.nodes) nodes.items.push_back(node_group(group));
    return std::move(map.put("fabric", std::move(fabric)).put("nodes", std::move(nodes)));
  }
  static Node node_group(const NodeGroup& from) {
    Map map, nics;
    map.text("name", from.name).count("count", from.count).text("gpu", from.gpu).count("gpus", from.gpus);
    optional_bandwidth(map, "nvlink", from.nvlink_bytes_per_s);
    optional_time(map, "nvlink_latency", from.nvlink_latency_s);
    nics.count("count", from.nics.count).bandwidth("bandwidth", from.nics.bytes_per_s);
    return map.put("nics", std::move(nics)).take();
  }

  Node pool(const Pool& from) const {
    constexpr std::string_view kRoles[] = {"mixed", "prefill", "decode"};
    Map map;
    map.text("name", from.name).word("role", kRoles[static_cast<std::size_t>(from.role)]);
    Node serves = Node::list({});
    for (const std::string& name : from.serves) serves.items.push_back(text(name));
    Map model;
    if (from.model.is_path) {
      path(model, "config", from.model.config);
    } else {
      model.text("config", from.model.config);
    }
    model.word("dtype", from.model.dtype);
    map.put("serves", std::move(serves)).put("model", std::move(model)).count("replicas", from.replicas);
    Node nodes = Node::list({});
    for (const NodeRef& ref : from.nodes)
      nodes.items.push_back(text(ref.index ? ref.group + "." + std::to_string(*ref.index) : ref.group));
    Map parallel;
    parallel.count("tp", from.parallel.tp).count("pp", from.parallel.pp);
    parallel.count("dp", from.parallel.dp).count("ep", from.parallel.ep);
    map.put("nodes", std::move(nodes)).put("parallel", std::move(parallel)).put("engine", engine(from.engine));
    Map scheduler, router;
    component(scheduler, from.scheduler.policy, from.scheduler.plugin, from.scheduler.options);
    scheduler.yes_no("grant_output_lengths", from.scheduler.grant_output_lengths);
    component(router, from.router.policy, from.router.plugin, from.router.options);
    router.time("signal_delay", from.router.signal_delay_s);
    return map.put("scheduler", std::move(scheduler)).put("router", std::move(router)).take();
  }

  static Map engine(const EngineConfig& from) {
    const bool is_priority = from.scheduling_policy == EngineConfig::SchedulingPolicy::kPriority;
    Map map;
    optional_count(map, "max_model_len", from.max_model_len, "default");
    map.count("max_num_batched_tokens", from.max_num_batched_tokens).count("max_num_seqs", from.max_num_seqs);
    map.count("block_size", from.block_size).word("kv_cache_dtype", from.kv_cache_dtype);
    map.number("gpu_memory_utilization", from.gpu_memory_utilization);
    optional_count(map, "num_gpu_blocks_override", from.num_gpu_blocks_override);
    map.yes_no("enable_prefix_caching", from.enable_prefix_caching);
    map.yes_no("enable_chunked_prefill", from.enable_chunked_prefill);
    map.count("long_prefill_token_threshold", from.long_prefill_token_threshold);
    map.word("scheduling_policy", is_priority ? "priority" : "fcfs");
    map.yes_no("scheduler_reserve_full_isl", from.scheduler_reserve_full_isl).number("watermark", from.watermark);
    map.yes_no("async_scheduling", from.async_scheduling);
    if (from.cudagraph_capture_sizes) {
      Node sizes = Node::list({});
      for (const std::uint64_t size : *from.cudagraph_capture_sizes)
        sizes.items.push_back(Map::plain(std::to_string(size)));
      map.put("cudagraph_capture_sizes", std::move(sizes));
    } else {
      map.word("cudagraph_capture_sizes", "default");
    }
    map.text("attention_backend", from.attention_backend);
    return map;
  }

  static Node text(const std::string& value) {
    Node node = Map::plain(value);
    node.quoted = true;
    return node;
  }
  static void put_options(Map& map, const Options& from) {
    Map options;
    for (const auto& [name, value] : from) options.text(name, value);
    map.put("options", std::move(options));
  }
  void component(Map& map, const std::string& policy, const std::optional<std::filesystem::path>& plugin,
                 const Options& options) const {
    map.text("policy", policy);
    optional_path(map, "plugin", plugin);
    put_options(map, options);
  }

  static Map kv_transfer(const KvTransferSpec& from) {
    const bool is_prefill = from.first_token == KvTransferSpec::FirstToken::kPrefill;
    return std::move(Map().word("granularity", "request").word("first_token", is_prefill ? "prefill" : "decode"));
  }
  static Map platform(const PlatformSpec& from) {
    if (from.terms.empty()) return std::move(Map().text("host", from.host));
    Map terms;
    for (const auto& [name, seconds] : from.terms) terms.time(name, seconds);
    Map map;
    if (!from.base.empty()) map.text("base", from.base);
    return std::move(map.put("host", std::move(terms)));
  }
  Node oracle(const OracleSpec& from) const {
    Map map;
    std::visit(Overloaded{
                   [&](const RooflineOracleSpec&) { map.word("kind", "roofline"); },
                   [&](const FixedOracleSpec& each) {
                     map.word("kind", "fixed").time("base", each.base_s).time("per_token", each.per_token_s);
                     map.time("per_1000_context", each.per_1000_context_s);
                   },
                   [&](const ProfiledOracleSpec& each) {
                     map.word("kind", "profiled");
                     map.text("store", store_text(each));
                     if (!each.environment.empty()) map.text("environment", each.environment);
                     map.word("routing", each.routing);
                   },
                   [&](const PluginOracleSpec& each) {
                     map.word("kind", "plugin");
                     path(map, "plugin", each.plugin);
                     map.text("oracle", each.oracle);
                     put_options(map, each.options);
                   },
               },
               from);
    return map.take();
  }
  /// The name that means these files wherever this program runs; none, where others would come in by it, or where files
  /// are not told as paths.
  std::optional<std::string> shipped_name(const ProfiledOracleSpec& from) const {
    const std::filesystem::path shipped = shipped_stores();
    for (const std::filesystem::path& file : from.files)
      if (file.parent_path() != shipped || path_text_(file) != file.string()) return {};
    const std::string name = std::filesystem::path(from.store).filename().string();
    try {
      if (find_store(name, name, {shipped}) == from.files) return name;
    } catch (const std::string&) {  // means two things here
    }
    return {};
  }
  /// One path, or what stands for each file of a name; as paths, the name where they lie. What ships is called by its
  /// name, which is the same on every machine.
  std::string store_text(const ProfiledOracleSpec& from) const {
    if (from.files.empty()) return from.store;
    if (const std::optional<std::string> name = shipped_name(from)) return *name;
    if (from.files.size() == 1) return path_text_(from.files.front());
    const std::filesystem::path directory = from.files.front().parent_path();
    std::string tokens;
    bool as_paths = true;
    for (const std::filesystem::path& file : from.files) {
      const std::string token = path_text_(file);
      as_paths = as_paths && token == file.string() && file.parent_path() == directory;
      tokens += (tokens.empty() ? "" : " ") + token;
    }
    if (as_paths) return (directory / std::filesystem::path(from.store).filename()).string();
    return path_text_(from.files.front()) == from.files.front().string() ? from.store : tokens;
  }
  static Map output(const OutputSpec& from) {
    Map map;
    map.word("requests", from.requests_csv ? "csv" : "none").word("iterations", from.iterations_csv ? "csv" : "none");
    map.word("decisions", from.decisions_jsonl ? "jsonl" : "none").word("timeline", "none").word("report", "none");
    return map;
  }

  const PathText& path_text_;
};

}  // namespace

Node to_tree(const Scenario& scenario, const PathText& path_text) { return TreeWriter(path_text).scenario(scenario); }

}  // namespace dooly::scenario
