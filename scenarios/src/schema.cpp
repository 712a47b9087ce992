#include "schema.hpp"

#include "schema_keys.hpp"

#include <stdexcept>

namespace dooly::scenario {
namespace {

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
              .def_note(
                  "`[{kind: profiled, store: NAME}, {kind: roofline}]` where a store ships for the GPU, else `[{kind: "
                  "roofline}]`; `dooly explain` shows it")
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
              "A shipped set of host times by name, `default` (the GPU's own), `none` (all zero), or single times "
              "(`dooly list host-times`), as in {schedule: 80us}; the others are those of `base`.")
              .def("default"),
          text("base",
               "Where the times that `host` does not give come from: a name as `host` has it, `none` for zero. Needed "
               "with a `host` that gives some of the times; has no meaning without single times.")
              .list_of("platforms"),
      },
  };
  made.shorthand = "host";
  return made;
}

Object oracle_object() {
  Object made{
      "oracle",
      "oracle[]",
      "`profiled`: measured operators of a store; those it lacks are asked of the next in the list. `roofline`: FLOPs "
      "and bytes over the device's peaks. `fixed`: a linear law, for tests. `plugin`: a shared library. A plain name "
      "is "
      "`kind`.",
      {
          choice("kind", {"roofline", "profiled", "fixed", "plugin"}, "Kind of oracle.").required(),
          text(
              "store",
              "A store directory, a `.jsonl.zst` file, or a NAME: NAME.jsonl.zst, else all NAME*.jsonl.zst, beside the "
              "scenario, in the directories of `DOOLY_PATH` or the installation's `stores`, merged. What is both a "
              "path and a name of the latter two is refused; `./NAME` is the path.")
              .required()
              .only("kind", {"profiled"}),
          text("environment", "Only environments of the store whose id begins with this or whose description holds it.")
              .def_note("all of the pool's GPU")
              .only("kind", {"profiled"}),
          choice("routing", {"balanced", "power_law_1.01", "power_law_1.2"},
                 "Which samples of experts count; the nearest there are.")
              .def("balanced")
              .only("kind", {"profiled"}),
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
  static const std::vector<Object> objects = [] {
    std::vector<Object> all = {scenario_object()};
    const auto append = [&](const std::vector<Object>& more) { all.insert(all.end(), more.begin(), more.end()); };
    append(workload_objects());
    append(cluster_objects());
    append(pool_objects());
    append({kv_transfer_object(), platform_object(), oracle_object(), output_object()});
    return all;
  }();
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
    case Type::kInteger: return key.min == key.max ? whole(key.min) : "a whole number " + range(key, whole);
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
