#include "reader.hpp"

#include "scenarios/data_path.hpp"

#include <algorithm>
#include <array>
#include <fstream>

namespace dooly::scenario {
namespace {

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

bool is_yaml_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"yes", "no", "on", "off", "true", "false"};
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Readers of YAML 1.1 take these for booleans, so a bare one is refused where a name is wanted.
bool is_bare_boolean(const Node& node) { return node.is_scalar() && !node.quoted && is_yaml_boolean(node.text); }

/// GROUP or GROUP.INDEX.
bool is_node_ref(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (!is_identifier(text.substr(0, dot))) return false;
  const auto index = dot == std::string_view::npos ? 0 : parse_integer(text.substr(dot + 1));
  return index && *index >= 0;
}

std::vector<std::string_view> known_keys(const Object& object) {
  std::vector<std::string_view> names;
  for (const Key& key : object.keys)
    if (key.is_built) names.push_back(key.name);
  return names;
}

/// Has `key` a meaning beside what its siblings say? Not if the deciding sibling is invalid.
bool applies(const Key& key, const Value& owner) {
  if (key.when_key.empty()) return true;
  const Value& decider = owner[key.when_key];
  return decider.is_valid && std::find(key.when.begin(), key.when.end(), decider.text) != key.when.end();
}

Node fallback_node(const Key& key, const Mark& mark) {
  if (key.fallback.front() != '{' && key.fallback.front() != '[') return Node::scalar(mark, std::string(key.fallback));
  std::vector<Problem> none;
  Node node = parse_yaml(key.fallback, mark.source, none);
  node.mark = mark;
  return node;
}

}  // namespace

const Value& Value::operator[](std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return value;
  static const Value stand_in = [] {
    Value made;
    made.is_valid = false;
    made.integer = 1;
    made.number = 1;
    return made;
  }();
  return stand_in;
}

std::filesystem::path PathRules::resolve(const std::string& text, const Mark& mark) const {
  return resolve_path(text, mark.source == 0 ? file_directory : working_directory);
}

void Reader::refuse(Value& value, const Node& node, const std::string& what, const std::string& allowed) {
  value.is_valid = false;
  std::string message = what;
  if (node.kind != Node::Kind::kNull || !what.ends_with("required")) message += ", got " + shown(node);
  if (!allowed.empty()) message += "; allowed: " + allowed;
  problems_.push_back({node.mark, value.path, std::move(message)});
}

Value Reader::read_scenario(const Node& node) {
  Value value;
  value.mark = node.mark;
  value.is_set = value.is_given = true;
  if (node.is_map()) {
    read_object(node, schema().front(), value);
  } else {
    refuse(value, node, "a scenario must be a map");
  }
  return value;
}

Value Reader::read(const Node& node, const Key& key, const std::string& path) {
  Value value;
  value.mark = node.mark;
  value.path = node.written_as.empty() ? path : node.written_as;
  value.is_set = value.is_given = true;
  const bool is_null = node.kind == Node::Kind::kNull;
  const bool is_unset =
      key.unset_word == "null" ? is_null : !key.unset_word.empty() && node.is_scalar() && node.text == key.unset_word;
  if (is_unset) {
    value.is_set = false;
    if (key.type == Type::kText) value.text.clear();
  } else if (key.type == Type::kObject) {
    const Object& object = schema_object(key.object);
    if (node.is_map()) {
      read_object(node, object, value);
    } else {
      refuse(value, node, object.shorthand.empty() ? "must be a map" : "must be text or a map",
             listed(known_keys(object)));
    }
  } else if (key.type == Type::kList) {
    read_list(node, key, value);
  } else if (key.type == Type::kOptions) {
    read_options(node, value);
  } else if (key.type == Type::kTerms) {
    read_terms(node, value);
  } else {
    read_scalar(node, key, value);
  }
  return value;
}

void Reader::read_object(const Node& node, const Object& object, Value& value) {
  refuse_unknown(node, object, value);
  for (const Key& key : object.keys)
    if (!key.is_short_form) read_member(node, key, value);
  require_one_of(node, object, value);
}

void Reader::refuse_unknown(const Node& node, const Object& object, Value& value) {
  for (const Node::Member& member : node.members) {
    if (object.find(member.key)) continue;
    const std::string path = joined(value.path, member.key);
    if (!object.extra.empty() && member.value.is_map()) {
      Key extra;
      extra.name = member.key;
      extra.type = Type::kObject;
      extra.object = object.extra;
      value.members.push_back({member.key, read(member.value, extra, path)});
      continue;
    }
    value.is_valid = false;
    const std::vector<std::string_view> known = known_keys(object);
    const std::string_view near = nearest(member.key, known);
    problems_.push_back({member.mark, path,
                         "unknown key" + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'") +
                             "; allowed: " + listed(known)});
  }
}

void Reader::read_member(const Node& node, const Key& key, Value& value) {
  const Node* member = node.find(key.name);
  const std::string path = member && member->is_implied ? value.path : joined(value.path, key.name);
  if (member && !key.is_built) {
    const bool is_empty_list = key.type == Type::kList && member->is_list() && member->items.empty();
    if (!is_empty_list) problems_.push_back({member->mark, path, "not built yet in this version"});
    member = nullptr;
  }
  const bool is_decided = key.when_key.empty() || value[key.when_key].is_valid;
  if (member && is_decided && !applies(key, value)) {
    problems_.push_back({member->mark, path,
                         "has no meaning with " + std::string(key.when_key) + ": " + value[key.when_key].text +
                             "; allowed: with " + listed(key.when)});
    member = nullptr;
  }
  Value read_value = member ? read(*member, key, path) : absent(node, key, path, value);
  value.members.push_back({std::string(key.name), std::move(read_value)});
}

Value Reader::absent(const Node& parent, const Key& key, const std::string& path, const Value& owner) {
  Value value;
  value.mark = parent.mark;
  value.path = path;
  if (!key.is_built || !applies(key, owner)) return value;
  if (!key.fallback.empty()) {
    value = read(fallback_node(key, parent.mark), key, path);
    value.is_given = false;
  } else if (key.is_required) {
    value.is_valid = false;
    problems_.push_back({parent.mark, path, "is required"});
  }
  return value;
}

void Reader::require_one_of(const Node& node, const Object& object, Value& value) {
  if (object.one_of.empty()) return;
  std::vector<const Node::Member*> given;
  for (const Node::Member& member : node.members)
    if (std::find(object.one_of.begin(), object.one_of.end(), member.key) != object.one_of.end())
      given.push_back(&member);
  if (given.size() == 1) return;
  value.is_valid = false;
  if (given.empty()) {
    problems_.push_back({node.mark, value.path, "one of these keys is required: " + listed(object.one_of)});
  } else {
    problems_.push_back(
        {given[1]->mark, joined(value.path, given[1]->key),
         "cannot stand beside '" + given[0]->key + "'; allowed: exactly one of " + listed(object.one_of)});
  }
}

void Reader::read_list(const Node& node, const Key& key, Value& value) {
  if (!node.is_list()) return refuse(value, node, "must be a list");
  if (node.items.size() < key.min_items || node.items.size() > key.max_items) {
    const std::string wanted = key.min_items == key.max_items ? "must have exactly " + std::to_string(key.min_items)
                               : node.items.empty() ? "must not be empty; at least " + std::to_string(key.min_items)
                                                    : "must have at most " + std::to_string(key.max_items);
    value.is_valid = false;
    problems_.push_back({node.mark, value.path, wanted + " members, got " + std::to_string(node.items.size())});
  }
  Key item = key;
  item.type = key.item;
  item.unset_word = {};
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& member = node.items[i];
    const Node* name = member.find("name");
    std::string step = name && name->is_scalar() && is_identifier(name->text) ? name->text : std::to_string(i);
    value.items.push_back(read(member, item, member.is_implied ? value.path : joined(value.path, step)));
    value.is_valid = value.is_valid && value.items.back().is_valid;
  }
}

void Reader::read_options(const Node& node, Value& value) {
  if (!node.is_map()) return refuse(value, node, "must be a map of option names to values");
  for (const Node::Member& member : node.members) {
    Value option;
    option.mark = member.value.mark;
    option.path = joined(value.path, member.key);
    option.is_set = option.is_given = true;
    option.text = member.value.text;
    if (!member.value.is_scalar()) refuse(option, member.value, "must be a plain value");
    if (member.key.empty()) refuse(option, member.value, "an option must have a name");
    value.is_valid = value.is_valid && option.is_valid;
    value.members.push_back({member.key, std::move(option)});
  }
}

void Reader::read_terms(const Node& node, Value& value) {
  if (node.is_scalar()) return read_text(node, value);
  if (!node.is_map() || node.members.empty())
    return refuse(value, node, "must be a name, or a map of times",
                  "a name of `dooly list platforms`, or times such as {schedule: 120us}");
  Key term;
  term.type = Type::kQuantity;
  term.dimension = Dimension::kTime;
  term.max = 1e6;
  for (const Node::Member& member : node.members) {
    value.members.push_back({member.key, read(member.value, term, joined(value.path, member.key))});
    value.is_valid = value.is_valid && value.members.back().value.is_valid;
  }
}

void Reader::read_scalar(const Node& node, const Key& key, Value& value) {
  if (!node.is_scalar()) {
    if (key.type == Type::kEnum) return refuse(value, node, "unknown value", listed(key.allowed));
    return refuse(value, node, "must be " + requirement(key));
  }
  switch (key.type) {
    case Type::kText: return read_text(node, value);
    case Type::kPath: return read_path(node, value);
    case Type::kEnum: return read_enum(node, key, value);
    case Type::kInteger:
    case Type::kNumber:
    case Type::kQuantity: return read_number(node, key, value);
    case Type::kIdentifier:
    case Type::kNodeRef:
      read_text(node, value);
      if (value.is_valid && !(key.type == Type::kNodeRef ? is_node_ref(node.text) : is_identifier(node.text)))
        refuse(value, node, "must be " + requirement(key));
      return;
    case Type::kBool:
      value.boolean = node.text == "true";
      if (node.quoted || (node.text != "true" && node.text != "false")) refuse(value, node, "must be true or false");
      return;
    case Type::kObject:
    case Type::kList:
    case Type::kOptions:
    case Type::kTerms: break;
  }
}

void Reader::read_text(const Node& node, Value& value) {
  value.text = node.text;
  if (is_bare_boolean(node)) return refuse(value, node, "is a boolean to YAML where a name is wanted; quote it");
  const bool has_control = std::any_of(node.text.begin(), node.text.end(), [](unsigned char c) { return c < 0x20; });
  if (node.text.empty() || node.text.size() > 1000 || has_control)
    refuse(value, node, "must be one line of text, at most 1000 bytes");
}

void Reader::read_path(const Node& node, Value& value) {
  read_text(node, value);
  if (!value.is_valid) return;
  try {
    const std::filesystem::path resolved = paths_.resolve(node.text, node.mark);
    value.text = resolved.string();
    std::error_code error;
    const auto status = std::filesystem::status(resolved, error);
    if (!std::filesystem::exists(status)) return refuse(value, node, "no such file: " + value.text);
    if (!std::filesystem::is_regular_file(status)) return refuse(value, node, "is not a file: " + value.text);
    if (!std::ifstream(resolved)) refuse(value, node, "cannot be read: " + value.text);
  } catch (const std::string& what) {
    refuse(value, node, what);
  }
}

void Reader::read_enum(const Node& node, const Key& key, Value& value) {
  value.text = node.text;
  if (std::find(key.allowed.begin(), key.allowed.end(), node.text) != key.allowed.end()) return;
  if (std::find(key.not_built.begin(), key.not_built.end(), node.text) != key.not_built.end())
    return refuse(value, node, "not built yet in this version", listed(key.allowed));
  if (is_bare_boolean(node))
    return refuse(value, node, "is a boolean to YAML where a name is wanted; quote it", listed(key.allowed));
  const std::string_view near = nearest(node.text, key.allowed);
  refuse(value, node, "unknown value" + (near.empty() ? "" : ", did you mean '" + std::string(near) + "'"),
         listed(key.allowed));
}

void Reader::read_number(const Node& node, const Key& key, Value& value) {
  value.integer = static_cast<std::int64_t>(key.min);  // a harmless stand-in if the value is refused
  value.number = key.min;
  if (key.type == Type::kQuantity) {
    const QuantityResult result = parse_quantity(node.text, key.dimension);
    const std::string allowed =
        "a number and one of " + listed(units_of(key.dimension)) + ", as in " + std::string(example_of(key.dimension));
    if (result.lacks_unit) return refuse(value, node, "needs a unit", allowed);
    if (!result.value) return refuse(value, node, "must be " + requirement(key), allowed);
    return check_range(node, key, *result.value, value);
  }
  const auto number = parse_number(node.text);
  const auto integer = parse_integer(node.text);
  if (node.quoted || !number || (key.type == Type::kInteger && !integer))
    return refuse(value, node, "must be " + requirement(key));
  check_range(node, key, *number, value);
  if (value.is_valid && integer) value.integer = *integer;
  if (value.is_valid && key.built_max > 0 && *number > key.built_max)
    refuse(value, node, "not built yet in this version", std::to_string(static_cast<std::int64_t>(key.built_max)));
}

void Reader::check_range(const Node& node, const Key& key, double number, Value& value) {
  const bool is_inside = number <= key.max && (key.excludes_min ? number > key.min : number >= key.min);
  if (!is_inside && key.name == "dooly")
    return refuse(value, node, "this version of the program reads format " + requirement(key) + " only");
  if (!is_inside) return refuse(value, node, "must be " + requirement(key));
  value.number = number;
}

}  // namespace dooly::scenario
