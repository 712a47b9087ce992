#include "scenarios/write.hpp"
#include "schema.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dooly::scenario {
namespace {

using Json = nlohmann::ordered_json;

Json any_of(std::vector<Json> alternatives) {
  if (alternatives.size() == 1) return std::move(alternatives.front());
  return {{"anyOf", std::move(alternatives)}};
}

Json reference(std::string_view object) { return {{"$ref", "#/$defs/" + std::string(object)}}; }

Json quantity(Dimension dimension) {
  std::string units;
  for (const std::string_view unit : units_of(dimension)) {
    units += units.empty() ? "" : "|";
    units += std::string(unit);
  }
  return {{"type", "string"}, {"pattern", "^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)? ?(" + units + ")$"}};
}

Json bounded(const Key& key, const char* type) {
  Json made = {{"type", type}};
  const double max = key.built_max > 0 ? key.built_max : key.max;
  if (key.type == Type::kInteger) {
    made["minimum"] = static_cast<std::int64_t>(key.min);
    made["maximum"] = static_cast<std::int64_t>(max);
  } else {
    made[key.excludes_min ? "exclusiveMinimum" : "minimum"] = key.min;
    made["maximum"] = max;
  }
  return made;
}

Json value_schema(const Key& key);

Json list_schema(const Key& key) {
  Key item = key;
  item.type = key.item;
  item.unset_word = {};
  Json made = {{"type", "array"}, {"items", value_schema(item)}};
  if (!key.is_built) made["maxItems"] = 0;
  if (key.is_built && key.min_items > 0) made["minItems"] = key.min_items;
  if (key.is_built && key.min_items == key.max_items) made["maxItems"] = key.max_items;
  if (!key.is_single_ok) return made;
  return any_of({std::move(made), value_schema(item)});
}

Json plain_schema(const Key& key) {
  switch (key.type) {
    case Type::kBool: return {{"type", "boolean"}};
    case Type::kInteger: return bounded(key, "integer");
    case Type::kNumber: return bounded(key, "number");
    case Type::kQuantity: return quantity(key.dimension);
    case Type::kEnum: return {{"enum", key.allowed}};
    case Type::kIdentifier: return {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]+$"}};
    case Type::kNodeRef: return {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]+(\\.[0-9]+)?$"}};
    case Type::kObject: return reference(key.object);
    case Type::kList: return list_schema(key);
    case Type::kOptions:
      return {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    case Type::kTerms:
      return any_of(
          {Json{{"type", "string"}}, Json{{"type", "object"}, {"additionalProperties", quantity(Dimension::kTime)}}});
    case Type::kText:
    case Type::kPath: break;
  }
  return {{"type", "string"}};
}

Json value_schema(const Key& key) {
  std::vector<Json> alternatives = {plain_schema(key)};
  if (key.unset_word == "null") alternatives.push_back({{"type", "null"}});
  if (key.unset_word == "default") alternatives.push_back({{"const", "default"}});
  return any_of(std::move(alternatives));
}

std::string description(const Key& key) {
  std::string text(key.help);
  if (!key.when_key.empty()) {
    text += " Only with " + std::string(key.when_key) + ": ";
    for (std::size_t i = 0; i < key.when.size(); ++i) {
      text += i ? ", " : "";
      text += std::string(key.when[i]);
    }
    text += ".";
  }
  if (!key.fallback.empty()) text += " Default: " + std::string(key.fallback) + ".";
  if (!key.fallback_note.empty()) text += " Default: " + std::string(key.fallback_note) + ".";
  return text;
}

Json object_schema(const Object& object) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : object.keys) {
    if (!key.is_built && key.type != Type::kList) continue;
    Json property = value_schema(key);
    property["description"] = description(key);
    if (object.takes_dashes && key.name.find('_') != std::string_view::npos) {
      std::string dashed(key.name);
      std::replace(dashed.begin(), dashed.end(), '_', '-');
      properties[dashed] = property;
    }
    properties[std::string(key.name)] = std::move(property);
    const bool may_be_inherited = object.name == "pool" && key.name != "name";
    if (key.is_required && key.when_key.empty() && !may_be_inherited) required.push_back(key.name);
  }
  Json made = {{"type", "object"}, {"description", object.help}, {"properties", std::move(properties)}};
  if (!required.empty()) made["required"] = std::move(required);
  for (const std::string_view key : object.one_of) made["oneOf"].push_back({{"required", {key}}});
  if (object.extra.empty()) {
    made["additionalProperties"] = false;
  } else {
    made["additionalProperties"] = reference(object.extra);
  }
  if (object.shorthand.empty()) return made;
  return any_of({std::move(made), value_schema(*object.find(object.shorthand))});
}

}  // namespace

std::string json_schema() {
  Json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Dooly scenario"}};
  root.update(object_schema(schema().front()));
  for (const Object& object : schema())
    if (object.name != schema().front().name) root["$defs"][std::string(object.name)] = object_schema(object);
  return root.dump(2) + "\n";
}

}  // namespace dooly::scenario
