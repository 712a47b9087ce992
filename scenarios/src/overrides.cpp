#include "overrides.hpp"

#include "expand.hpp"
#include "schema.hpp"

#include <algorithm>
#include <utility>

namespace dooly::scenario {
namespace {

std::string joined(const std::vector<std::string>& steps, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += i ? "." : "";
    text += steps[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> steps;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    steps.emplace_back(path.substr(from, dot - from));
    from = dot + 1;
  }
  return steps;
}

/// Engine arguments may be spelt with dashes; names of pools keep theirs.
void undash_engine_steps(std::vector<std::string>& steps) {
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i - 1] == "engine") std::replace(steps[i].begin(), steps[i].end(), '-', '_');
}

/// The override, other than `own`, that wrote some part of `node`; 0 if none did.
std::size_t other_writer(const Node& node, std::size_t own) {
  if (node.mark.source != 0 && node.mark.source != own) return node.mark.source;
  for (const Node& item : node.items)
    if (const std::size_t source = other_writer(item, own)) return source;
  for (const Node::Member& member : node.members)
    if (const std::size_t source = other_writer(member.value, own)) return source;
  return 0;
}

bool has_members(const Key& key) {
  return key.type == Type::kObject || key.type == Type::kOptions || key.type == Type::kTerms;
}

/// Follows the steps of one override through tree and schema.
class Walk {
 public:
  Walk(const Override& set, const std::vector<std::string>& all, std::vector<Problem>& problems)
      : set_(set),
        all_(all),
        problems_(problems) {}

  void through_object(Node& node, const Object& object, std::size_t step) {
    const std::string& name = set_.steps[step];
    const Key* key = object.find(name);
    Key extra;
    if (!key && !object.extra.empty() && step + 1 < set_.steps.size()) {
      extra.name = name;
      extra.type = Type::kObject;
      extra.object = object.extra;
      key = &extra;
    }
    if (!key) return refuse_unknown(object, step);
    Node* member = node.find(name);
    if (step + 1 == set_.steps.size()) {
      // null takes the key out, so that it has its default; for a key that knows null, that is a value.
      if (set_.value.kind == Node::Kind::kNull && key->unset_word != "null") return take_out(node, member, step);
      Node value = set_.value;
      normalise_value(value, *key, problems_);
      return write(node, member, step, std::move(value));
    }
    if (!member && !has_members(*key)) return refuse(step + 1, "has no member '" + set_.steps[step + 1] + "'");
    through_value(member ? *member : node.add(name, Node::map(node.mark)), *key, step + 1);
  }

 private:
  void write(Node& parent, Node* member, std::size_t step, Node value) {
    if (!member) {
      parent.add(set_.steps[step], std::move(value));
    } else if (!clashes(*member, step + 1)) {
      *member = std::move(value);
    }
  }
  void take_out(Node& parent, Node* member, std::size_t step) {
    if (member && !clashes(*member, step + 1)) parent.remove(set_.steps[step]);
  }
  bool clashes(const Node& node, std::size_t step) {
    const std::size_t other = other_writer(node, set_.mark.source);
    if (other != 0) refuse(step, "is set twice, also by --set " + all_[other - 1]);
    return other != 0;
  }

  void through_value(Node& node, const Key& key, std::size_t step) {
    if (node.mark.source != 0 && clashes(node, step)) return;
    if (key.type == Type::kList) return through_list(node, key, step);
    if (key.type == Type::kOptions || key.type == Type::kTerms) return set_option(node, step);
    if (key.type != Type::kObject) return refuse(step, "is a plain value and has no member '" + set_.steps[step] + "'");
    if (!node.is_map()) node = Node::map(node.mark);
    through_object(node, schema_object(key.object), step);
  }

  void through_list(Node& node, const Key& key, std::size_t step) {
    if (key.item != Type::kObject) return refuse(step, "is a list of plain values; set it as a whole");
    const Object& object = schema_object(key.object);
    if (node.items.size() == 1 && node.items[0].is_implied) return through_object(node.items[0], object, step);
    const std::string& wanted = set_.steps[step];
    std::vector<std::string_view> names;
    for (Node& item : node.items) {
      const Node* name = item.find("name");
      names.push_back(name && name->is_scalar() ? std::string_view(name->text) : std::string_view());
    }
    auto found = std::find(names.begin(), names.end(), wanted);
    const auto index = parse_integer(wanted);
    if (found == names.end() && index && *index >= 0 && *index < static_cast<std::int64_t>(names.size()))
      found = names.begin() + *index;
    if (found == names.end()) {
      std::erase(names, "");
      const std::string_view near = nearest(wanted, names);
      return refuse(step, "has no member '" + wanted + "'" +
                              (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") +
                              (names.empty() ? "" : "; allowed: " + listed(names)));
    }
    if (step + 1 == set_.steps.size()) return refuse(step, "name a key inside '" + wanted + "'");
    Node& item = node.items[static_cast<std::size_t>(found - names.begin())];
    if (!item.is_map()) return refuse(step, "has no map at '" + wanted + "'");
    through_object(item, object, step + 1);
  }

  void set_option(Node& node, std::size_t step) {
    if (step + 1 != set_.steps.size()) return refuse(step, "holds plain values only");
    if (!node.is_map()) node = Node::map(node.mark);
    write(node, node.find(set_.steps[step]), step, set_.value);
  }

  void refuse_unknown(const Object& object, std::size_t step) {
    std::vector<std::string_view> known;
    for (const Key& key : object.keys)
      if (key.is_built) known.push_back(key.name);
    const std::string_view near = nearest(set_.steps[step], known);
    problems_.push_back({set_.mark, joined(set_.steps, step + 1),
                         "unknown key" + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") +
                             "; allowed: " + listed(known)});
  }
  void refuse(std::size_t step, const std::string& what) {
    problems_.push_back({set_.mark, joined(set_.steps, step), what});
  }

  const Override& set_;
  const std::vector<std::string>& all_;
  std::vector<Problem>& problems_;
};

}  // namespace

std::vector<Override> parse_overrides(const std::vector<std::string>& texts, std::vector<Problem>& problems) {
  std::vector<Override> overrides;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Override made;
    made.mark.source = i + 1;
    const std::size_t equals = texts[i].find('=');
    made.steps = split(texts[i].substr(0, equals));
    const bool has_empty_step = std::find(made.steps.begin(), made.steps.end(), "") != made.steps.end();
    if (equals == std::string::npos || equals == 0 || has_empty_step) {
      problems.push_back({made.mark, "", "must be KEY=VALUE, as in pools.decode.replicas=8"});
      continue;
    }
    undash_engine_steps(made.steps);
    try {
      const std::string text = texts[i].substr(equals + 1);
      made.value = text.empty() ? Node::scalar(made.mark, "") : parse_yaml(text, i + 1, problems);
    } catch (Problem& problem) {
      problem.path = joined(made.steps, made.steps.size());
      problems.push_back(std::move(problem));
      continue;
    }
    overrides.push_back(std::move(made));
  }
  return overrides;
}

void apply_override(Node& scenario, const Override& set, const std::vector<std::string>& all,
                    std::vector<Problem>& problems) {
  if (scenario.is_map()) Walk(set, all, problems).through_object(scenario, schema().front(), 0);
}

}  // namespace dooly::scenario
