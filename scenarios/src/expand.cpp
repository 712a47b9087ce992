#include "expand.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace dooly::scenario {
namespace {

constexpr std::int64_t kGpusPerNode = 8;

/// Wraps `node` into {key: node} at the same place.
void wrap_in_map(Node& node, std::string_view key) {
  Node outer = Node::map(node.mark);
  outer.is_implied = node.is_implied;
  outer.written_as = node.written_as;
  node.is_implied = true;
  node.written_as.clear();
  outer.add(std::string(key), std::move(node));
  node = std::move(outer);
}

void undash(Node& node, std::vector<Problem>& problems) {
  for (Node::Member& member : node.members) {
    std::string name = member.key;
    std::replace(name.begin(), name.end(), '-', '_');
    if (name != member.key && node.find(name)) {
      problems.push_back({member.mark, name, "key given twice, as " + name + " and " + member.key});
      continue;  // stays as it is and is refused as unknown
    }
    member.key = std::move(name);
  }
}

/// Maps merge, everything else replaces.
void deep_merge(Node& base, const Node& over) {
  if (!base.is_map() || !over.is_map()) {
    base = over;
    return;
  }
  for (const Node::Member& member : over.members) {
    if (Node* existing = base.find(member.key)) {
      deep_merge(*existing, member.value);
    } else {
      base.members.push_back(member);
    }
  }
  base.mark = over.mark;
}

class LikeMerger {
 public:
  LikeMerger(Node& pools, std::vector<Problem>& problems)
      : pools_(pools),
        problems_(problems),
        state_(pools.items.size(), State::kUntouched) {}

  void run() {
    for (std::size_t i = 0; i < pools_.items.size(); ++i) resolve(i);
  }

 private:
  enum class State { kUntouched, kOpen, kDone };

  std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t i = 0; i < pools_.items.size(); ++i) {
      const Node* own = pools_.items[i].find("name");
      if (own && own->is_scalar() && own->text == name) return i;
    }
    return {};
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const Node& pool : pools_.items)
      if (const Node* name = pool.find("name"); name && name->is_scalar()) all.push_back(name->text);
    return all;
  }
  void refuse(const Node& like, std::size_t pool, const std::string& what) {
    const Node* name = pools_.items[pool].find("name");
    const std::string step = name && name->is_scalar() ? name->text : std::to_string(pool);
    problems_.push_back({like.mark, "pools." + step + ".like", what});
  }

  void resolve(std::size_t i) {
    if (state_[i] != State::kUntouched) return;
    Node& pool = pools_.items[i];
    const Node* like = pool.find("like");
    if (!like) {
      state_[i] = State::kDone;
      return;
    }
    state_[i] = State::kOpen;
    const Node wanted = *like;
    const auto other = wanted.is_scalar() ? find(wanted.text) : std::nullopt;
    if (!other) {
      const std::string_view near = wanted.is_scalar() ? nearest(wanted.text, names()) : std::string_view();
      refuse(wanted, i,
             "no such pool" + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") + ", got " +
                 shown(wanted) + "; allowed: " + listed(names()));
    } else if (*other == i || (resolve(*other), state_[*other] == State::kOpen)) {
      refuse(wanted, i, "pools are like each other in a circle, got " + shown(wanted));
    } else {
      Node merged = pools_.items[*other];
      merged.remove("name");
      deep_merge(merged, pool);
      pool = std::move(merged);
    }
    pool.remove("like");
    state_[i] = State::kDone;
  }

  Node& pools_;
  std::vector<Problem>& problems_;
  std::vector<State> state_;
};

/// A count of the tree before it has been checked; 1 if it is absent or wrong, which is reported elsewhere.
std::int64_t count_or_one(const Node* node, std::int64_t most) {
  const auto value = node && node->is_scalar() ? parse_integer(node->text) : std::nullopt;
  return value && *value >= 1 && *value <= most ? *value : 1;
}

std::int64_t nodes_for(const Node& pool) {
  const Node* parallel = pool.find("parallel");
  std::int64_t gpus = 1;
  for (const char* degree : {"tp", "pp", "dp"}) gpus *= count_or_one(parallel ? parallel->find(degree) : nullptr, 1024);
  const std::int64_t replicas = count_or_one(pool.find("replicas"), 1'000'000);
  if (gpus > kGpusPerNode) return replicas * ((gpus + kGpusPerNode - 1) / kGpusPerNode);
  const std::int64_t per_node = kGpusPerNode / gpus;
  return (replicas + per_node - 1) / per_node;
}

}  // namespace

void normalise_value(Node& node, const Key& key, std::vector<Problem>& problems) {
  if (key.type == Type::kList) {
    if (key.is_single_ok && !node.is_list() && node.kind != Node::Kind::kNull) {
      Node list = Node::list(node.mark);
      list.written_as = std::exchange(node.written_as, {});
      node.is_implied = true;
      list.items.push_back(std::move(node));
      node = std::move(list);
    }
    if (key.item != Type::kObject) return;
    for (Node& item : node.items) normalise(item, schema_object(key.object), problems);
  } else if (key.type == Type::kObject) {
    normalise(node, schema_object(key.object), problems);
  }
}

void normalise(Node& node, const Object& object, std::vector<Problem>& problems) {
  if (node.is_scalar() && !object.shorthand.empty()) wrap_in_map(node, object.shorthand);
  if (object.takes_dashes) undash(node, problems);
  for (Node::Member& member : node.members) {
    if (const Key* key = object.find(member.key)) normalise_value(member.value, *key, problems);
  }
}

void expand_pools(Node& scenario, std::vector<Problem>& problems) {
  constexpr std::string_view kShort[] = {"model", "replicas", "tp", "engine", "scheduler", "router"};
  Node pool = Node::map(scenario.mark);
  Node name = Node::scalar(scenario.mark, "main");
  pool.add("name", std::move(name));
  const bool has_pools = scenario.find("pools") != nullptr;
  for (const std::string_view key : kShort) {
    Node* value = scenario.find(key);
    if (!value) continue;
    if (has_pools) {
      problems.push_back({value->mark, std::string(key), "is the short form and cannot stand beside 'pools'"});
    } else {
      value->written_as = key;
      Node& target = key == "tp" ? pool.add("parallel", Node::map(scenario.mark)) : pool;
      target.add(std::string(key), std::move(*value));
    }
    scenario.remove(key);
  }
  if (has_pools) return;
  if (pool.members.size() == 1) {
    problems.push_back({scenario.mark, "pools", "is required; in the short form: model, gpu, tp, replicas"});
  } else if (!pool.find("model")) {
    problems.push_back({scenario.mark, "model", "is required"});
    return;
  }
  if (pool.members.size() == 1) return;
  Node& pools = scenario.add("pools", Node::list(scenario.mark));
  pools.items.push_back(std::move(pool));
}

void merge_likes(Node& scenario, std::vector<Problem>& problems) {
  if (Node* pools = scenario.find("pools")) LikeMerger(*pools, problems).run();
}

void expand_cluster(Node& scenario, std::vector<Problem>& problems) {
  Node* gpu = scenario.find("gpu");
  if (!gpu) {
    if (!scenario.find("cluster"))
      problems.push_back({scenario.mark, "cluster", "is required; in the short form: gpu"});
    return;
  }
  if (scenario.find("cluster")) {
    problems.push_back({gpu->mark, "gpu", "is the short form and cannot stand beside 'cluster'"});
  } else {
    std::int64_t count = 0;
    if (const Node* pools = scenario.find("pools"))
      for (const Node& pool : pools->items) count += nodes_for(pool);
    const Mark mark = gpu->mark;
    Node group = Node::map(mark);
    group.add("name", Node::scalar(mark, "main"));
    group.add("count", Node::scalar(mark, std::to_string(std::max<std::int64_t>(count, 1))));
    gpu->written_as = "gpu";
    group.add("gpu", std::move(*gpu));
    Node& cluster = scenario.add("cluster", Node::map(mark));
    Node& nodes = cluster.add("nodes", Node::list(mark));
    nodes.items.push_back(std::move(group));
  }
  scenario.remove("gpu");
}

void expand_oracle(Node& scenario, const std::function<std::string(const std::string&)>& shipped_store) {
  if (scenario.find("oracle")) return;
  const Node* cluster = scenario.find("cluster");
  const Node* nodes = cluster ? cluster->find("nodes") : nullptr;
  if (!nodes || !nodes->is_list()) return;
  std::vector<std::string> stores;  // each answers for its own GPU alone
  for (const Node& group : nodes->items) {
    const Node* gpu = group.find("gpu");
    if (!gpu || !gpu->is_scalar()) return;
    const std::string store = shipped_store(gpu->text);
    if (!store.empty() && std::find(stores.begin(), stores.end(), store) == stores.end()) stores.push_back(store);
  }
  if (stores.empty()) return;
  const Mark mark = scenario.mark;
  Node& list = scenario.add("oracle", Node::list(mark));
  for (const std::string& store : stores) {
    Node profiled = Node::map(mark);
    profiled.add("kind", Node::scalar(mark, "profiled"));
    profiled.add("store", Node::scalar(mark, store));
    list.items.push_back(std::move(profiled));
  }
  Node roofline = Node::map(mark);
  roofline.add("kind", Node::scalar(mark, "roofline"));
  list.items.push_back(std::move(roofline));
}

}  // namespace dooly::scenario
