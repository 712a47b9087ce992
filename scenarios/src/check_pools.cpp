#include "check.hpp"

#include "scenarios/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dooly::scenario {
namespace {

std::string without_meta(std::string name) {
  if (const std::size_t at = name.find("/Meta-"); at != std::string::npos) name.erase(at + 1, 5);
  return name;
}

/// `Meta-Llama-3.1-8B` as the hub calls it today.
std::string without_meta_prefix(const std::string& name) {
  const bool has_it = name.size() > 5 && (name.starts_with("Meta-") || name.starts_with("meta-llama-"));
  return has_it ? name.substr(5) : without_meta(name);
}

bool is_path(const std::string& text) {
  return text.starts_with("./") || text.starts_with("../") || text.starts_with("/") ||
         text.starts_with("$DOOLY_DATA/") || text.ends_with(".json");
}

constexpr const char* kModelFile = "config.json";

bool is_entry(const Pool& pool) { return pool.role != Pool::Role::kDecode; }

bool serves(const Pool& pool, const std::string& class_name) {
  return pool.serves.empty() || std::find(pool.serves.begin(), pool.serves.end(), class_name) != pool.serves.end();
}

/// A class that both pools serve, "" for "any", or nothing.
std::optional<std::string> common_class(const Pool& a, const Pool& b) {
  if (a.serves.empty()) return b.serves.empty() ? std::string() : b.serves.front();
  for (const std::string& name : a.serves)
    if (serves(b, name)) return name;
  return {};
}

}  // namespace

void Checker::check_pool(std::size_t index) {
  const Value& value = root_["pools"].items[index];
  Pool& pool = scenario_.pools[index];
  if (value.members.empty()) return;
  check_model(value["model"], pool.model);
  check_nodes(value, pool);
  check_engine(value["engine"], pool.engine);
  const auto pointer = [](const std::optional<std::filesystem::path>& path) { return path ? &*path : nullptr; };
  check_component(value["scheduler"], Component::Kind::kPolicy, pointer(pool.scheduler.plugin), pool.scheduler.policy,
                  pool.scheduler.options);
  check_component(value["router"], Component::Kind::kRouter, pointer(pool.router.plugin), pool.router.policy,
                  pool.router.options);
  const auto& served = value["serves"].items;
  for (std::size_t i = 0; i < served.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (served[i].text == served[j].text) refuse(served[i], "class named twice, got " + served[i].text);
}

/// Whether a text that looks like a hub id is the path of a folder.
bool Checker::is_folder(const Value& config) const {
  try {
    std::error_code error;
    return std::filesystem::is_directory(paths_.resolve(config.text, config.mark), error);
  } catch (const std::string&) {
    return false;
  }
}

/// A file, or the folder that holds a config.json.
void Checker::check_model_path(const Value& config, ModelSpec& model) {
  model.is_path = true;
  try {
    std::filesystem::path path = paths_.resolve(config.text, config.mark);
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      path /= kModelFile;
      if (!std::filesystem::is_regular_file(path, error))
        return refuse(config, "folder " + path.parent_path().lexically_normal().string() + " has no " + kModelFile +
                                  ", got " + config.text);
    }
    model.config = path.lexically_normal().string();
    if (!std::filesystem::is_regular_file(path, error))
      refuse(config, "no such file: " + model.config + ", got " + config.text);
  } catch (const std::string& what) {
    refuse(config, what + ", got " + config.text);
  }
}

void Checker::check_model(const Value& value, ModelSpec& model) {
  const Value& config = value["config"];
  if (!config.is_valid || config.text.empty()) return;
  if (is_path(config.text)) return check_model_path(config, model);
  for (const std::string& known : names_.models)
    if (without_meta(known) == without_meta(config.text)) {
      model.config = known;
      return;
    }
  if (is_folder(config)) return check_model_path(config, model);
  known_name(config, names_.models, "model (a path must begin with ./ or / or end in .json)",
             without_meta_prefix(config.text));
}

void Checker::check_nodes(const Value& value, Pool& pool) {
  const Value& nodes = value["nodes"];
  const auto& groups = scenario_.cluster.nodes;
  if (!root_["cluster"]["nodes"].is_valid) return;
  if (!nodes.is_set && nodes.is_valid) {
    if (groups.size() == 1) {
      pool.nodes = {NodeRef{groups.front().name, {}}};
    } else {
      refuse(nodes, "is required where there are several node groups");
    }
    return;
  }
  std::set<std::string> gpus;
  for (std::size_t i = 0; i < nodes.items.size(); ++i) {
    if (!nodes.items[i].is_valid) continue;
    check_node(nodes.items[i], pool.nodes[i]);
    for (const NodeGroup& group : groups)
      if (group.name == pool.nodes[i].group) gpus.insert(group.gpu);
  }
  if (gpus.size() > 1)
    refuse(nodes, "a pool's nodes must have the same GPU, got " + *gpus.begin() + " and " + *gpus.rbegin());
}

void Checker::check_node(const Value& value, const NodeRef& ref) {
  const auto& groups = scenario_.cluster.nodes;
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.name == ref.group; });
  if (found == groups.end()) {
    std::vector<std::string_view> known;
    for (const NodeGroup& group : groups) known.push_back(group.name);
    const std::string_view near = nearest(ref.group, known);
    refuse(value, "no such node group" + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") + ", got " +
                      value.text + "; allowed: " + listed(known));
  } else if (ref.index && *ref.index >= found->count) {
    refuse(value, "no such node, got " + value.text + "; allowed: " + ref.group + ".0 to " + ref.group + "." +
                      std::to_string(found->count - 1));
  }
}

void Checker::check_engine(const Value& value, EngineConfig& engine) {
  const auto ok = [&](const char* key) { return value[key].is_valid; };
  const Value& batched = value["max_num_batched_tokens"];
  const std::string got = ", got " + std::to_string(engine.max_num_batched_tokens);
  const auto at_least = [&](std::string_view what, std::uint64_t least) {
    if (engine.max_num_batched_tokens >= least) return;
    refuse(batched, fmt::format("must be at least {} ({}){}", what, least, got));
  };
  // As vLLM: a default number of requests gives way to a small budget.
  if (!value["max_num_seqs"].is_given && ok("max_num_batched_tokens"))
    engine.max_num_seqs = std::min(engine.max_num_seqs, engine.max_num_batched_tokens);
  if (ok("max_num_batched_tokens") && ok("max_num_seqs")) at_least("max_num_seqs", engine.max_num_seqs);
  if (ok("max_num_batched_tokens") && ok("block_size")) at_least("block_size", engine.block_size);
  check_whole_prompts(value, engine);
  const auto& sizes = value["cudagraph_capture_sizes"].items;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (sizes[i].is_valid && sizes[i - 1].is_valid && sizes[i].integer <= sizes[i - 1].integer)
      refuse(sizes[i], fmt::format("must be larger than the size before it, got {}", sizes[i].integer));
  const std::uint64_t threshold = engine.long_prefill_token_threshold;
  if (ok("max_model_len") && engine.max_model_len && threshold > *engine.max_model_len)
    refuse(value["long_prefill_token_threshold"],
           fmt::format("must be at most max_model_len ({}), got {}", *engine.max_model_len, threshold));
}

void Checker::check_whole_prompts(const Value& value, const EngineConfig& engine) {
  const Value& longest = value["max_model_len"];
  const Value& batched = value["max_num_batched_tokens"];
  if (engine.enable_chunked_prefill || !longest.is_valid || !batched.is_valid) return;
  if (!engine.max_model_len) {
    refuse(longest, "is required without chunked prefill: every prompt must fit max_num_batched_tokens");
  } else if (engine.max_num_batched_tokens < *engine.max_model_len) {
    refuse(batched, fmt::format("must be at least max_model_len ({}) without chunked prefill, got {}",
                                *engine.max_model_len, engine.max_num_batched_tokens));
  }
}

void Checker::check_placement() {
  const auto& groups = scenario_.cluster.nodes;
  double replicas = 0, gpus = 0;
  for (const Pool& pool : scenario_.pools) replicas += static_cast<double>(pool.replicas);
  for (const NodeGroup& group : groups) gpus += static_cast<double>(group.count) * static_cast<double>(group.gpus);
  if (!problems_.empty() || replicas > 1e7 || gpus > 1e7) return;  // sizes and places must be right to count
  for (std::size_t i = 0; i < scenario_.pools.size(); ++i) {
    const Pool& pool = scenario_.pools[i];
    for (const NodeRef& ref : pool.nodes)
      for (const NodeGroup& group : groups)
        if (group.name == ref.group && pool.parallel.gpus() > group.gpus && pool.parallel.gpus() % group.gpus != 0)
          return refuse(root_["pools"].items[i]["parallel"]["tp"],
                        "a replica larger than a node must fill whole nodes of " + std::to_string(group.gpus) +
                            " GPUs, got " + std::to_string(pool.parallel.gpus()));
  }
  const Placement placement = place_replicas(scenario_.cluster, scenario_.pools);
  if (!placement.unplaced) return;
  const Pool& pool = scenario_.pools[placement.unplaced->pool];
  refuse(root_["pools"].items[placement.unplaced->pool]["replicas"],
         "the pool's nodes have room for " + std::to_string(placement.unplaced->placed) + " replicas of " +
             std::to_string(pool.parallel.gpus()) + " GPUs, got " + std::to_string(pool.replicas));
}

void Checker::check_classes() {
  if (!root_["pools"].is_valid || !root_["workload"].is_valid) return;
  std::vector<std::string_view> classes;
  for (const WorkloadSpec& workload : scenario_.workloads) classes.push_back(workload.default_class());
  for (std::size_t i = 0; i < scenario_.workloads.size(); ++i) {
    const std::string& name = scenario_.workloads[i].default_class();
    if (std::find(classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        classes.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    const bool is_served = std::any_of(scenario_.pools.begin(), scenario_.pools.end(),
                                       [&](const Pool& pool) { return is_entry(pool) && serves(pool, name); });
    const bool has_entry = std::any_of(scenario_.pools.begin(), scenario_.pools.end(), is_entry);
    if (!is_served && has_entry && !has_row_classes())
      refuse(root_["workload"].items[i], "no pool serves class '" + name + "'");
  }
  if (has_row_classes()) return;
  for (const Value& pool : root_["pools"].items)
    for (const Value& served : pool["serves"].items)
      if (std::find(classes.begin(), classes.end(), served.text) == classes.end())
        refuse(served, "no request is of this class, got " + served.text + "; allowed: " + listed(classes));
}

void Checker::check_roles() {
  const auto& pools = scenario_.pools;
  for (const Value& pool : root_["pools"].items)
    if (!pool["role"].is_valid || !pool["serves"].is_valid || !pool["name"].is_valid) return;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const Value& role = root_["pools"].items[i]["role"];
    bool has_partner = false;
    for (std::size_t j = 0; j < pools.size(); ++j) {
      if (i == j) continue;
      const auto common = common_class(pools[i], pools[j]);
      if (!common) continue;
      if (j < i && is_entry(pools[i]) == is_entry(pools[j]))
        refuse(root_["pools"].items[i], "serves " + (common->empty() ? "the same classes" : "class '" + *common + "'") +
                                            " as pool '" + pools[j].name +
                                            "' does; several pools for one class are not built yet in this version");
      const bool is_pair =
          pools[i].role != Pool::Role::kMixed && pools[j].role != Pool::Role::kMixed && pools[i].role != pools[j].role;
      has_partner = has_partner || is_pair;
      if (is_pair && pools[i].role == Pool::Role::kPrefill) check_pair(i, j);
    }
    if (has_partner || pools[i].role == Pool::Role::kMixed) continue;
    const bool is_prefill = pools[i].role == Pool::Role::kPrefill;
    refuse(role, std::string("no pool of role ") + (is_prefill ? "decode" : "prefill") + " serves its classes, got " +
                     role.text);
  }
}

void Checker::check_pair(std::size_t prefill, std::size_t decode) {
  const Pool& from = scenario_.pools[prefill];
  const Pool& to = scenario_.pools[decode];
  const Value& value = root_["pools"].items[decode];
  const auto differs = [&](const Value& key, const std::string& theirs, const std::string& ours) {
    if (key.is_valid && theirs != ours)
      refuse(key, "must be as in pool '" + from.name + "' (" + theirs + "), whose KV it takes over, got " + ours);
  };
  differs(value["model"]["config"], from.model.config, to.model.config);
  differs(value["model"]["dtype"], from.model.dtype, to.model.dtype);
  differs(value["engine"]["kv_cache_dtype"], from.engine.kv_cache_dtype, to.engine.kv_cache_dtype);
  differs(value["engine"]["block_size"], std::to_string(from.engine.block_size), std::to_string(to.engine.block_size));
}

}  // namespace dooly::scenario
