#include "check.hpp"

#include "quantity.hpp"

#include "scenarios/find_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dooly::scenario {
namespace {

constexpr double kMostGpus = 1e7;

std::vector<std::string_view> views(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

}  // namespace

void Checker::run() {
  if (root_.members.empty()) return;
  check_workload_names();
  for (std::size_t i = 0; i < scenario_.workloads.size(); ++i) check_workload(i);
  check_slo_conflicts();
  check_cluster();
  unique_names(root_["pools"]);
  for (std::size_t i = 0; i < scenario_.pools.size(); ++i) check_pool(i);
  check_placement();
  check_classes();
  check_roles();
  for (std::size_t i = 0; i < scenario_.workloads.size(); ++i) check_priority(i);
  check_kv_transfer();
  check_platform();
  check_oracles();
}

void Checker::unique_names(const Value& list) {
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Value& name = list.items[i]["name"];
    if (!name.is_valid) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const Value& earlier = list.items[j]["name"];
      if (!earlier.is_valid || earlier.text != name.text) continue;
      refuse(name, "name used twice, first on line " + std::to_string(earlier.mark.line) + ", got " + name.text);
      break;
    }
  }
}

void Checker::known_name(const Value& value, const std::vector<std::string>& known, const std::string& what,
                         std::string_view looks_like) {
  if (!value.is_valid || !value.is_set || known.empty()) return;
  if (std::find(known.begin(), known.end(), value.text) != known.end()) return;
  const std::string_view near = nearest(looks_like.empty() ? value.text : looks_like, views(known));
  refuse(value, "unknown " + what + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") + ", got " +
                    value.text + "; allowed: " + listed(views(known)));
}

void Checker::check_cluster() {
  const Value& cluster = root_["cluster"];
  unique_names(cluster["nodes"]);
  double gpus = 0;
  for (const Value& group : cluster["nodes"].items) {
    known_name(group["gpu"], names_.gpus, "GPU");
    gpus += group["count"].number * group["gpus"].number;
  }
  if (cluster["nodes"].is_valid && gpus > kMostGpus)
    refuse(cluster["nodes"], "has more than 10000000 GPUs, got " + print_number(gpus));
}

void Checker::check_component(const Value& value, Component::Kind kind, const std::filesystem::path* plugin,
                              const std::string& name, const Options& options) {
  const Value& named = value[kind == Component::Kind::kOracle ? "oracle" : "policy"];
  if (!named.is_valid || !value["plugin"].is_valid || !value["options"].is_valid) return;
  if (!plugin && kind != Component::Kind::kOracle) {
    const auto& known = kind == Component::Kind::kPolicy ? names_.policies : names_.routers;
    const std::size_t before = problems_.size();
    known_name(named, known, kind == Component::Kind::kPolicy ? "policy" : "router");
    if (problems_.size() != before) return;
  }
  if (!names_.check_options) return;
  for (const OptionProblem& problem : names_.check_options(Component{kind, plugin, name, options})) {
    const Value& all = value["options"];
    const auto found = std::find_if(all.members.begin(), all.members.end(),
                                    [&](const auto& member) { return member.name == problem.option; });
    if (problem.option.empty()) {
      refuse(plugin && value["plugin"].is_set ? value["plugin"] : named, problem.what);
    } else if (found != all.members.end()) {
      refuse(found->value, problem.what);
    } else {
      problems_.push_back({all.mark, all.path + "." + problem.option, problem.what});
    }
  }
}

void Checker::check_oracles() {
  const Value& list = root_["oracle"];
  for (std::size_t i = 0; i < list.items.size() && i < scenario_.oracles.size(); ++i) {
    const Value& value = list.items[i];
    if (!value["kind"].is_valid) continue;
    if (const auto* fixed = std::get_if<FixedOracleSpec>(&scenario_.oracles[i])) {
      const bool is_valid = value["base"].is_valid && value["per_token"].is_valid;
      if (is_valid && fixed->base_s + fixed->per_token_s <= 0)
        refuse(value, "an iteration would take no time; give 'base' or 'per_token'");
    }
    if (auto* profiled = std::get_if<ProfiledOracleSpec>(&scenario_.oracles[i])) check_store(value, *profiled);
    const bool is_profiled = value["kind"].text == "profiled";
    if (is_profiled && i + 1 < list.items.size()) {
      const Value& next = list.items[i + 1]["kind"];
      if (next.is_valid && next.text != "profiled" && next.text != "roofline")
        refuse(next, "answers whole iterations; behind 'profiled' only 'profiled' and 'roofline' can stand");
    }
    if (const auto* plugin = std::get_if<PluginOracleSpec>(&scenario_.oracles[i]))
      check_component(value, Component::Kind::kOracle, &plugin->plugin, plugin->oracle, plugin->options);
    const bool answers_all = value["kind"].text == "roofline" || value["kind"].text == "fixed";
    if (answers_all && i + 1 < list.items.size())
      refuse(list.items[i + 1], "is never asked: '" + value["kind"].text + "' before it answers everything");
  }
}

void Checker::check_store(const Value& value, ProfiledOracleSpec& profiled) {
  const Value& store = value["store"];
  if (!store.is_set || !store.is_valid) return;
  try {
    profiled.files = find_store(profiled.store, paths_.resolve(profiled.store, store.mark), names_.store_directories);
  } catch (const std::string& what) {
    refuse(store, what);
  }
}

void Checker::check_platform() {
  const Value& host = root_["platform"]["host"];
  for (const auto& [name, term] : host.members) {
    Value named = term;
    named.is_valid = true;
    named.text = name;
    known_name(named, names_.platform_terms, "host time");
  }
  const Value& base = root_["platform"]["base"];
  const bool gives_terms = !host.members.empty();
  if (!gives_terms) check_platform_name(host);
  if (base.is_set) check_platform_name(base);
  if (base.is_set && base.is_valid && host.is_valid && !gives_terms)
    refuse(base, "has no meaning unless `host` gives single times");
  const std::size_t all = names_.platform_terms.size();
  if (gives_terms && !base.is_set && host.is_valid && host.members.size() < all)
    refuse(host, fmt::format("gives {} of {} host times and `base` does not say whose the others are; allowed: base: "
                             "none (they are zero), default (the GPU's own) or a name of `dooly list platforms`",
                             host.members.size(), all));
}

void Checker::check_platform_name(const Value& name) {
  std::vector<std::string> known = names_.platforms;
  if (!name.is_valid || known.empty()) return;
  for (const char* word : {"none", "default"})
    if (std::find(known.begin(), known.end(), word) == known.end()) known.insert(known.begin(), word);
  known_name(name, known, "platform");
}

void Checker::check_kv_transfer() {
  const Value& value = root_["kv_transfer"];
  const bool has_prefill = std::any_of(scenario_.pools.begin(), scenario_.pools.end(),
                                       [](const Pool& pool) { return pool.role == Pool::Role::kPrefill; });
  if (value.is_given && value.is_valid && !has_prefill && root_["pools"].is_valid)
    refuse(value, "has no meaning without a pool of role prefill");
}

}  // namespace dooly::scenario
