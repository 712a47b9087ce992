#include "schema.hpp"

#include <stdexcept>
#include <utility>

namespace dooly::scenario {
namespace {

constexpr double kMany = 1e9;         // no count in a scenario is larger
constexpr double kMostTokens = 1e8;   // of one request
constexpr double kLongest = 1e9;     // seconds, some thirty years
constexpr double kSlowestRate = 1e-9;
constexpr double kFastestRate = 1e9;
constexpr double kFastestLink = 1e15;
constexpr double kLargestInteger = 9007199254740992.0;  // 2^53: exact in every reader of JSON and YAML

Key key(std::string_view name, Type type, std::string_view help) {
  Key made;
  made.name = name;
  made.type = type;
  made.help = help;
  return made;
}
Key text(std::string_view name, std::string_view help) { return key(name, Type::kText, help); }
Key identifier(std::string_view name, std::string_view help) { return key(name, Type::kIdentifier, help); }
Key path(std::string_view name, std::string_view help) { return key(name, Type::kPath, help); }
Key boolean(std::string_view name, std::string_view help) { return key(name, Type::kBool, help); }
Key options(std::string_view name, std::string_view help) { return key(name, Type::kOptions, help); }
Key integer(std::string_view name, double min, double max, std::string_view help) {
  Key made = key(name, Type::kInteger, help);
  made.min = min;
  made.max = max;
  return made;
}
Key number(std::string_view name, double min, double max, std::string_view help) {
  Key made = integer(name, min, max, help);
  made.type = Type::kNumber;
  return made;
}
Key quantity(std::string_view name, Dimension dimension, double min, double max, std::string_view help) {
  Key made = integer(name, min, max, help);
  made.type = Type::kQuantity;
  made.dimension = dimension;
  return made;
}
Key time(std::string_view name, std::string_view help) { return quantity(name, Dimension::kTime, 0, kLongest, help); }
Key rate(std::string_view name, std::string_view help) {
  return quantity(name, Dimension::kRate, kSlowestRate, kFastestRate, help);
}
Key bandwidth(std::string_view name, std::string_view help) {
  return quantity(name, Dimension::kBandwidth, 0, kFastestLink, help).above_min();
}
Key choice(std::string_view name, std::vector<std::string_view> allowed, std::string_view help,
           std::vector<std::string_view> not_built = {}) {
  Key made = key(name, Type::kEnum, help);
  made.allowed = std::move(allowed);
  made.not_built = std::move(not_built);
  return made;
}
Key object(std::string_view name, std::string_view of, std::string_view help) {
  Key made = key(name, Type::kObject, help);
  made.object = of;
  return made;
}
Key list(std::string_view name, Type item, std::string_view help) {
  Key made = key(name, Type::kList, help);
  made.item = item;
  return made;
}
Key objects(std::string_view name, std::string_view of, std::string_view help) {
  Key made = list(name, Type::kObject, help);
  made.object = of;
  return made;
}
Key tokens(std::string_view name, std::string_view help) { return object(name, "lengths", help); }

Object scenario_object() {
  return {
      "scenario",
      "Top level",
      "One experiment. `model`, `gpu`, `tp`, `replicas`, `engine`, `scheduler` and `router` are the short form: they "
      "expand to one node group and one pool, both called `main`.",
      {
          integer("dooly", 1, 1, "Version of this format.").required(),
          text("name", "Name in reports.").def_note("the file's name without its ending"),
          integer("seed", 0, kLargestInteger, "Seed of every random stream.").def("0"),
          objects("workload", "workload", "The requests: one stream, or a list of named ones that are merged.")
              .required()
              .single_ok()
              .items(1, 255),
          object("cluster", "cluster", "The machines. The short form writes `gpu` instead."),
          objects("pools", "pool", "The replicas. The short form writes `model`, `tp`, `replicas` instead.")
              .items(1, 1000),
          object("kv_transfer", "kv_transfer", "How KV moves. Only with pools of role prefill and decode."),
          object("platform", "platform", "The host around the GPUs.").def("{}"),
          objects("oracle", "oracle", "Who tells how long an iteration takes: per operator the first that answers.")
              .def("[{kind: roofline}]")
              .single_ok()
              .items(1, 16),
          list("faults", Type::kText, "Failures of nodes.").def("[]").later(),
          object("output", "output", "Files written beside `summary.json`.").def("{}"),
          object("model", "model", "Short form of `pools: [{name: main, model: …}]`.").short_form(),
          text("gpu", "Short form of `cluster`: as many nodes of 8 such GPUs as the pools need, on one switch.")
              .list_of("gpus")
              .short_form(),
          integer("tp", 1, 1024, "Short form of `parallel: {tp: …}`.").short_form(),
          integer("replicas", 1, 1e6, "Short form of the pool's `replicas`.").short_form(),
          object("engine", "engine", "Short form of the pool's `engine`.").short_form(),
          object("scheduler", "scheduler", "Short form of the pool's `scheduler`.").short_form(),
          object("router", "router", "Short form of the pool's `router`.").short_form(),
          text("study", "Many simulations from one file.").later(),
      },
  };
}

Object workload_object() {
  Object made{
      "workload",
      "workload",
      "Exactly one of `trace`, `synthetic` and `sessions`.",
      {
          identifier("name",
                     "Names this stream and its random draws; required in a list of several. The class of its "
                     "requests unless something else names one.")
              .def("default"),
          object("trace", "trace", "Requests read from a file."),
          object("synthetic", "synthetic", "Independent requests drawn from distributions."),
          object("sessions", "sessions", "Conversations of several turns."),
          object("slo", "slo", "Limits that count towards goodput, for all classes or per class."),
      },
  };
  made.one_of = {"trace", "synthetic", "sessions"};
  return made;
}

Key class_key() {
  return text("class",
              "Class of every request. Without it a trace's rows may carry their own; else it is the "
              "workload's name.")
      .unset("null");
}
Key priority_key() {
  return integer("priority", -1e6, 1e6, "Priority of requests without their own; smaller is more urgent.").def("0");
}
Key arrivals_key() { return object("arrivals", "arrivals", "When requests arrive."); }
Key duration_key(std::string_view help) { return time("duration", help).above_min().unset("null"); }
Key prefix_key(std::string_view help) { return object("prefix", "prefix", help); }

Object trace_object() {
  return {
      "trace",
      "workload.trace",
      "A request trace, plain, gzip or zstd. `servegen` is no trace but statistics of clients, from which requests are "
      "drawn.",
      {
          choice("format",
                 {"azure", "mooncake", "burstgpt", "vidur", "llmservingsim", "sharegpt", "apex", "vllm-bench",
                  "servegen", "dooly"},
                 "Format of the file; `dooly list formats` describes them.")
              .required(),
          path("path", "The file (servegen: the clients' rates).").required(),
          path("lengths", "The clients' length distributions.").required().only("format", {"servegen"}),
          number("speedup", 1e-6, 1e6, "Divides every gap between arrivals.").def("1"),
          integer("limit", 1, kLargestInteger, "At most so many requests of the file.").unset("null"),
          integer("loop", 1, 16777216, "How many times the trace is played, one after another.").def("1"),
          duration_key("Arrivals stop there."),
          choice("too_long", {"reject", "truncate"}, "A request beyond `max_model_len`: reject it or cut its prompt.")
              .def("reject"),
          object("arrivals", "arrivals", "Replaces the file's own times; required where it has none (sharegpt)."),
          class_key(),
          priority_key(),
      },
  };
}

Object synthetic_object() {
  return {
      "synthetic",
      "workload.synthetic",
      "Independent requests. `requests` or `duration` (or both) must end the arrivals.",
      {
          integer("requests", 1, kLargestInteger, "How many.").unset("null"),
          duration_key("Arrivals stop there."),
          arrivals_key().required(),
          tokens("prompt_tokens", "Prompt length.").required(),
          tokens("output_tokens", "Output length.").required(),
          prefix_key("Prompts that begin alike."),
          class_key(),
          priority_key(),
      },
  };
}

Object sessions_object() {
  return {
      "sessions",
      "workload.sessions",
      "Conversations: a turn's prompt is the whole conversation so far and its new text; it arrives `think_time` after "
      "the answer before.",
      {
          integer("sessions", 1, kLargestInteger, "How many.").unset("null"),
          duration_key("New sessions stop there."),
          arrivals_key().required(),
          tokens("turns", "Turns of a session.").required(),
          object("think_time", "times", "From an answer to the next turn.").def("{fixed: 0s}"),
          tokens("first_prompt", "Prompt length of the first turn.").required(),
          tokens("turn_prompt", "New prompt tokens of every later turn.").required(),
          tokens("output_tokens", "Output length of a turn.").required(),
          prefix_key("First prompts that begin alike."),
          class_key(),
          priority_key(),
      },
  };
}

Object arrivals_object() {
  return {
      "arrivals",
      "arrivals",
      "The arrival process of requests (of sessions: of their first turns).",
      {
          choice("process", {"poisson", "gamma", "constant", "bursts", "closed_loop", "replay", "at_once"},
                 "`at_once`: all at time 0.")
              .required(),
          rate("rate", "Mean arrival rate.").required().only("process", {"poisson", "gamma", "constant", "bursts"}),
          number("cv", 0.01, 100, "Coefficient of variation of the gaps; 1 is Poisson.")
              .required()
              .only("process", {"gamma"}),
          integer("size", 1, kMany, "Requests of a burst.").required().only("process", {"bursts"}),
          integer("concurrency", 1, 1e7, "Clients, each with one request at a time.")
              .required()
              .only("process", {"closed_loop"}),
          object("think_time", "times", "From a client's answer to its next request.")
              .def("{fixed: 0s}")
              .only("process", {"closed_loop"}),
          path("path", "File of arrival times in seconds, one a line, or CSV with a column `arrival_s`.")
              .required()
              .only("process", {"replay"}),
      },
  };
}

Object lengths_object() {
  Object made{
      "lengths",
      "Lengths",
      "A distribution of whole numbers, at least 1 (tokens, turns). A plain number is `fixed`.",
      {
          integer("fixed", 1, kMostTokens, "Always this."),
          list("uniform", Type::kInteger, "[least, most], both included.").items(2, 2),
          object("lognormal", "lognormal_lengths", "Lognormal, by its mean and 99th percentile."),
          object("zipf", "zipf", "P(k) ∝ (k − min + 1)^−exponent for min ≤ k ≤ max."),
          object("empirical", "empirical", "Drawn from the values of a file."),
      },
  };
  made.keys[1].min = 1;
  made.keys[1].max = kMostTokens;
  made.shorthand = "fixed";
  made.one_of = {"fixed", "uniform", "lognormal", "zipf", "empirical"};
  return made;
}

Object times_object() {
  Object made{
      "times",
      "Times",
      "A distribution of times. A plain quantity is `fixed`.",
      {
          time("fixed", "Always this."),
          list("uniform", Type::kQuantity, "[least, most].").items(2, 2),
          object("lognormal", "lognormal_times", "Lognormal, by its mean and 99th percentile."),
          object("empirical", "empirical", "Drawn from the values of a file, in seconds."),
      },
  };
  made.keys[1].max = kLongest;
  made.keys[1].dimension = Dimension::kTime;
  made.shorthand = "fixed";
  made.one_of = {"fixed", "uniform", "lognormal", "empirical"};
  return made;
}

Object lognormal_lengths_object() {
  return {
      "lognormal_lengths",
      "Lengths: lognormal",
      "`mean` and `p99` are of the untruncated law; of two solutions the one with the smaller σ is meant.",
      {
          number("mean", 0, kMostTokens, "Mean.").above_min().required(),
          number("p99", 0, kMostTokens, "99th percentile.").above_min().required(),
          integer("max", 1, kMostTokens, "Larger draws are drawn again.").required(),
      },
  };
}

Object lognormal_times_object() {
  return {
      "lognormal_times",
      "Times: lognormal",
      "As for lengths.",
      {
          time("mean", "Mean.").above_min().required(),
          time("p99", "99th percentile.").above_min().required(),
          time("max", "Larger draws are drawn again.").above_min().required(),
      },
  };
}

Object zipf_object() {
  return {
      "zipf",
      "Lengths: zipf",
      "Short lengths are the frequent ones.",
      {
          number("exponent", 0, 20, "The larger, the more skewed.").above_min().required(),
          integer("min", 1, kMostTokens, "Least value.").def("1"),
          integer("max", 1, kMostTokens, "Largest value.").required(),
      },
  };
}

Object empirical_object() {
  Object made{
      "empirical",
      "Lengths and times: empirical",
      "One number a line, or CSV with a header; plain, gzip or zstd. A plain path is enough for a file of one column.",
      {
          path("path", "The file.").required(),
          text("column", "Column to read.").unset("null"),
      },
  };
  made.shorthand = "path";
  return made;
}

Object prefix_object() {
  return {
      "prefix",
      "prefix",
      "A share of the requests begins with the prefix of one of some groups; it counts inside the prompt length.",
      {
          integer("groups", 1, kMany, "Different prefixes, each equally likely.").required(),
          integer("tokens", 1, kMostTokens, "Length of a prefix.").required(),
          number("share", 0, 1, "Share of the requests that have one.").def("1"),
      },
  };
}

std::vector<Key> slo_keys() {
  return {
      time("ttft", "Time to first token.").above_min().unset("null"),
      time("tpot", "Time per output token after the first.").above_min().unset("null"),
      time("e2e", "Arrival to last token.").above_min().unset("null"),
  };
}

Object slo_object() {
  Object made{"slo", "workload.slo",
              "Limits for all classes of the workload; any other key is a class with limits of its own.", slo_keys()};
  made.extra = "slo_class";
  return made;
}
Object slo_class_object() { return {"slo_class", "workload.slo.CLASS", "Limits of one class.", slo_keys()}; }

Object cluster_object() {
  return {
      "cluster",
      "cluster",
      "Machines and the network between them.",
      {
          object("fabric", "fabric", "The network between the nodes.").def("{}"),
          objects("nodes", "node_group", "Groups of equal machines.").required().items(1, 1000),
      },
  };
}

Object fabric_object() {
  return {
      "fabric",
      "cluster.fabric",
      "`star`: one switch that never blocks. `fat_tree`: leaf switches whose up-links may be over-subscribed.",
      {
          choice("topology", {"star", "fat_tree"}, "Shape of the network.", {"dragonfly", "torus", "rail_optimised"})
              .def("star"),
          object("link", "link", "A port of a switch.").def("{}"),
          number("oversubscription", 1, 1000, "What a leaf's nodes can send ÷ what its up-links carry.")
              .def("1")
              .only("topology", {"fat_tree"}),
          integer("nodes_per_leaf", 1, 1e6, "Consecutive nodes that share a leaf switch.")
              .def("16")
              .only("topology", {"fat_tree"}),
      },
  };
}

Object link_object() {
  return {
      "link",
      "cluster.fabric.link",
      "A NIC is as fast as the slower of itself and its link.",
      {
          bandwidth("bandwidth", "Of one port and direction; default: as the NICs.").unset("default"),
          time("latency", "One way, node to node.").def("2us"),
      },
  };
}

Object node_group_object() {
  return {
      "node_group",
      "cluster.nodes[]",
      "`count` equal machines, called NAME.0, NAME.1, …",
      {
          identifier("name", "Name of the group.").required(),
          integer("count", 1, 1e6, "Machines.").def("1"),
          text("gpu", "Kind of GPU.").required().list_of("gpus"),
          integer("gpus", 1, 1024, "GPUs of a machine.").def("8"),
          bandwidth("nvlink", "Between a machine's GPUs, of one GPU and direction; default: the GPU's own.")
              .unset("default"),
          object("nics", "nics", "Network cards of a machine.").def("{}"),
      },
  };
}

Object nics_object() {
  return {
      "nics",
      "cluster.nodes[].nics",
      "A machine sends with all of its NICs together.",
      {
          integer("count", 1, 1024, "Cards.").def_note("one for each GPU"),
          bandwidth("bandwidth", "Of one card and direction.").def("400Gbps"),
      },
  };
}

Object pool_object() {
  return {
      "pool",
      "pools[]",
      "Equal replicas of an engine behind one router.",
      {
          identifier("name", "Name of the pool.").required(),
          text("like", "Another pool of which this one is a copy: maps are merged, lists and values replaced."),
          choice("role", {"mixed", "prefill", "decode"}, "What its replicas do.").def("mixed"),
          list("serves", Type::kText, "Request classes that it serves; empty: all.").def("[]").single_ok(),
          object("model", "model", "The model.").required(),
          integer("replicas", 1, 1e6, "Engine instances.").def("1"),
          list("nodes", Type::kNodeRef, "Node groups, or single nodes GROUP.INDEX, that it fills in order.")
              .def_note("the only node group")
              .single_ok()
              .items(1, 100'000),
          object("parallel", "parallel", "GPUs of a replica.").def("{}"),
          object("engine", "engine", "The engine's arguments.").def("{}"),
          object("scheduler", "scheduler", "Who decides what an iteration computes.").def("{}"),
          object("router", "router", "Who picks a request's replica.").def("{}"),
      },
  };
}

Object model_object() {
  Object made{
      "model",
      "model",
      "A plain name or path is `config`.",
      {
          text("config",
               "A shipped model (hub id, `Meta-` optional) or the path of a config.json: it ends in .json or "
               "begins with ./, ../, / or $DOOLY_DATA/.")
              .required()
              .list_of("models"),
          choice("dtype", {"auto", "bfloat16", "float16", "float32"}, "Type of weights and activations.").def("auto"),
      },
  };
  made.shorthand = "config";
  return made;
}

Object parallel_object() {
  return {
      "parallel",
      "pools[].parallel",
      "GPUs of a replica = tp × pp × dp.",
      {
          integer("tp", 1, 1024, "Tensor parallel ranks.").def("1"),
          integer("pp", 1, 1024, "Pipeline stages.").def("1").built_up_to(1),
          integer("dp", 1, 1024, "Data parallel ranks.").def("1").built_up_to(1),
          integer("ep", 1, 1024, "Ranks that experts are split over; adds no GPUs.").def("1").built_up_to(1),
      },
  };
}

Object engine_object() {
  Object made{
      "engine",
      "engine",
      "vLLM's arguments by vLLM's names (dashes are accepted too); defaults of `vllm serve` 0.26 on a GPU of at least "
      "70 GB.",
      {
          integer("max_model_len", 1, kMany, "Longest prompt and output together; default: from config.json.")
              .unset("default"),
          integer("max_num_batched_tokens", 1, kMany, "Token budget of an iteration.").def("8192"),
          integer("max_num_seqs", 1, 1e6, "Most requests of an iteration.").def("1024"),
          integer("block_size", 1, 1024, "Tokens of a KV block.").def("16"),
          choice("kv_cache_dtype", {"auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"},
                 "Type of KV entries; auto: the model's.")
              .def("auto"),
          number("gpu_memory_utilization", 0, 1, "Share of the GPU's memory that the engine takes.")
              .above_min()
              .def("0.92"),
          integer("num_gpu_blocks_override", 1, kMany, "KV blocks of a replica instead of those that fit.")
              .unset("null"),
          boolean("enable_prefix_caching", "Reuse KV blocks of equal prefixes.").def("true"),
          path("prewarm", "A trace whose prefixes are cached at the start.").later(),
          boolean("enable_chunked_prefill", "Split prompts over iterations.").def("true"),
          integer("long_prefill_token_threshold", 0, kMany,
                  "Most prompt tokens of one request in an iteration; 0: no "
                  "limit.")
              .def("0"),
          choice("scheduling_policy", {"fcfs", "priority"}, "Order of waiting requests.").def("fcfs"),
          boolean("scheduler_reserve_full_isl", "Admit a request only if its whole prompt fits the free blocks.")
              .def("true"),
          number("watermark", 0, 1, "Share of the blocks kept free when requests are admitted.").def("0"),
          boolean("async_scheduling", "Schedule the next iteration before the last one's result is read.").def("true"),
          list("cudagraph_capture_sizes", Type::kInteger,
               "Batch sizes of CUDA graphs, ascending; default: vLLM's; "
               "empty: none (--enforce-eager).")
              .unset("default"),
          identifier("attention_backend", "Attention kernels.").def("default"),
      },
  };
  for (Key& entry : made.keys)
    if (entry.name == "cudagraph_capture_sizes") entry.min = 1, entry.max = kMany;
  made.takes_dashes = true;
  return made;
}

Object scheduler_object() {
  Object made{
      "scheduler",
      "scheduler",
      "A plain name is `policy`.",
      {
          text("policy", "Scheduling policy.").def("vllm-v1").list_of("policies"),
          path("plugin", "Shared library that holds the policy; null: built in.").unset("null"),
          options("options", "The policy's own options.").def("{}"),
      },
  };
  made.shorthand = "policy";
  return made;
}

Object router_object() {
  Object made{
      "router",
      "router",
      "A plain name is `policy`.",
      {
          text("policy", "Routing policy.").def("least_requests").list_of("routers"),
          path("plugin", "Shared library that holds the router; null: built in.").unset("null"),
          options("options", "The router's own options.").def("{}"),
          time("signal_delay", "Age of the load figures that the router sees.").def("0s"),
      },
  };
  made.shorthand = "policy";
  return made;
}

Object kv_transfer_object() {
  return {
      "kv_transfer",
      "kv_transfer",
      "How KV moves from prefill to decode replicas.",
      {
          choice("granularity", {"request"}, "What moves at once.", {"layer"}).def("request"),
          choice("first_token", {"decode", "prefill"},
                 "Which side emits the first token: prefill as soon as it is "
                 "computed, decode after the transfer.")
              .def("decode"),
      },
  };
}

Object platform_object() {
  Object made{
      "platform",
      "platform",
      "What the engine's process costs beside the GPU. A plain name is `host`.",
      {
          key("host", Type::kTerms,
              "A shipped set of host times by name, `default` (the GPU's own), `none` (all zero), or the times "
              "themselves, as in {schedule: 80us}; those not given are zero.")
              .def("default"),
      },
  };
  made.shorthand = "host";
  return made;
}

Object oracle_object() {
  Object made{
      "oracle",
      "oracle[]",
      "`roofline`: FLOPs and bytes over the device's peaks. `fixed`: a linear law, for tests. `plugin`: a shared "
      "library. A plain name is `kind`.",
      {
          choice("kind", {"roofline", "fixed", "plugin"}, "Kind of oracle.", {"profiled"}).required(),
          text("store", "Where the profiles lie.").later().only("kind", {"profiled"}),
          time("base", "Of every iteration.").def("0s").only("kind", {"fixed"}),
          time("per_token", "… and for each token computed.").def("0s").only("kind", {"fixed"}),
          time("per_1000_context", "… and for each 1000 tokens of context after it.").def("0s").only("kind", {"fixed"}),
          path("plugin", "The shared library.").required().only("kind", {"plugin"}),
          text("oracle", "Its name in there.").required().only("kind", {"plugin"}),
          options("options", "Its own options.").def("{}").only("kind", {"plugin"}),
      },
  };
  made.shorthand = "kind";
  return made;
}

Object output_object() {
  return {
      "output",
      "output",
      "",
      {
          choice("requests", {"csv", "none"}, "`requests.csv`: a row for each request.").def("csv"),
          choice("iterations", {"none", "csv"}, "`iterations.csv`: a row for each iteration.").def("none"),
          choice("decisions", {"none", "jsonl"}, "`decisions.jsonl`: what each scheduling call decided.").def("none"),
          choice("timeline", {"none"}, "`timeline.json` for Perfetto.", {"perfetto"}).def("none"),
          choice("report", {"none"}, "`report.html`.", {"html"}).def("none"),
      },
  };
}

}  // namespace

const Key* Object::find(std::string_view wanted) const {
  for (const Key& candidate : keys)
    if (candidate.name == wanted) return &candidate;
  return nullptr;
}

const std::vector<Object>& schema() {
  static const std::vector<Object> objects = {
      scenario_object(),  workload_object(),  trace_object(),       synthetic_object(),
      sessions_object(),  arrivals_object(),  lengths_object(),     lognormal_lengths_object(),
      zipf_object(),      empirical_object(), times_object(),       lognormal_times_object(),
      prefix_object(),    slo_object(),       slo_class_object(),   cluster_object(),
      fabric_object(),    link_object(),      node_group_object(),  nics_object(),
      pool_object(),      model_object(),     parallel_object(),    engine_object(),
      scheduler_object(), router_object(),    kv_transfer_object(), platform_object(),
      oracle_object(),    output_object(),
  };
  return objects;
}

const Object& schema_object(std::string_view name) {
  for (const Object& candidate : schema())
    if (candidate.name == name) return candidate;
  throw std::logic_error("schema has no object " + std::string(name));
}

namespace {

std::string range(const Key& key, auto print) {
  if (key.excludes_min) return "above " + print(key.min) + " and at most " + print(key.max);
  return "from " + print(key.min) + " to " + print(key.max);
}

}  // namespace

std::string requirement(const Key& key) {
  const auto whole = [](double value) { return std::to_string(static_cast<std::int64_t>(value)); };
  switch (key.type) {
    case Type::kInteger: return "a whole number " + range(key, whole);
    case Type::kNumber: return "a number " + range(key, print_number);
    case Type::kQuantity: {
      const char* what = key.dimension == Dimension::kTime   ? "a time "
                         : key.dimension == Dimension::kRate ? "a rate "
                                                             : "a bandwidth ";
      return what + range(key, [&](double value) { return print_quantity(value, key.dimension); });
    }
    case Type::kBool: return "true or false";
    case Type::kIdentifier: return "a name of letters, digits, '_' and '-'";
    case Type::kNodeRef: return "a node group, or GROUP.INDEX";
    case Type::kPath: return "the path of a file";
    case Type::kList: return "a list";
    case Type::kOptions:
    case Type::kObject: return "a map";
    case Type::kTerms: return "a name, or a map of times";
    case Type::kText:
    case Type::kEnum: break;
  }
  return "text";
}

}  // namespace dooly::scenario
