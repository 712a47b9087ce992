#include "random_scenario.hpp"

#include <algorithm>

namespace dooly::scenario::test {
namespace {

constexpr int kDeepest = 12;

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string RandomScenario::text() { return object(schema().front(), 0) + "\n"; }

std::string RandomScenario::object(const Object& object, int depth) {
  if (!object.shorthand.empty() && chance(0.3)) return value(*object.find(object.shorthand), depth + 1);
  const std::string one_of = object.one_of.empty() ? "" : std::string(object.one_of[below(object.one_of.size())]);
  // The key that decides which others have a meaning stands first.
  std::string chosen;
  std::string text;
  const auto put = [&](std::string_view name, const std::string& written) {
    text += text.empty() ? "" : ", ";
    text.append(name).append(": ").append(written);
  };
  const Key* decider = nullptr;
  for (const Key& key : object.keys)
    if (!key.when_key.empty()) decider = object.find(key.when_key);
  if (decider) {
    chosen = decider->allowed[below(decider->allowed.size())];
    put(decider->name, chosen);
  }
  for (const Key& key : object.keys) {
    if (&key == decider || (!key.is_built && !chance(wildness_))) continue;
    if (contains(object.one_of, key.name) ? key.name != one_of : !wanted(object, key, chosen)) continue;
    put(key.name, value(key, depth + 1));
  }
  if (!object.extra.empty() && chance(0.3) && depth < kDeepest)
    put("default", this->object(schema_object(object.extra), depth + 1));
  if (chance(wildness_)) put(broken(), broken());
  return "{" + text + "}";
}

bool RandomScenario::wanted(const Object& object, const Key& key, const std::string& chosen) {
  const bool is_top = object.name == schema().front().name;
  if (key.is_short_form) return key.name == "model" || key.name == "gpu" ? true : chance(0.5);
  if (is_top && (key.name == "pools" || key.name == "cluster" || key.name == "kv_transfer")) return chance(wildness_);
  if (key.name == "like") return chance(wildness_);
  if (object.name == "platform" && key.name == "base") return chance(0.1);  // only some values of `host` take one
  if (!key.when_key.empty() && !contains(key.when, chosen)) return chance(wildness_);
  return key.is_required ? !chance(wildness_) : chance(0.5);
}

std::string RandomScenario::value(const Key& key, int depth) {
  if (chance(wildness_)) return broken();
  if (!key.unset_word.empty() && chance(0.3)) return std::string(key.unset_word);
  if (depth > kDeepest) return "1";
  switch (key.type) {
    case Type::kObject: return object(schema_object(key.object), depth);
    case Type::kList: return list(key, depth);
    case Type::kOptions: return chance(0.5) ? "{}" : "{alpha: 0.3, mode: 'yes', n: 5}";
    case Type::kTerms: return chance(0.5) ? "none" : "{schedule: 2ms, update: 5us}";
    default: return scalar(key);
  }
}

std::string RandomScenario::list(const Key& key, int depth) {
  if (!key.is_built) return "[]";
  Key item = key;
  item.type = key.item;
  item.unset_word = {};
  const std::size_t count = key.min_items == key.max_items ? key.min_items : key.min_items + below(2);
  if (key.max_items == 2) {  // a range
    const std::string least = value(item, depth + 1);
    return "[" + least + ", " + least + "]";
  }
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    text += i ? ", " : "";
    text += key.item == Type::kText ? "default" : value(item, depth + 1);
  }
  return text + "]";
}

std::string RandomScenario::integer(const Key& key) {
  if (key.name == "priority" && !chance(0.2)) return "0";  // others need a pool that schedules by priority
  const double top = key.built_max > 0 ? key.built_max : std::min(key.max, key.min + 40);
  const auto low = static_cast<std::int64_t>(key.min);
  const auto range = static_cast<std::uint64_t>(top - key.min) + 1;
  if (key.built_max == 0 && key.max > 2000 && chance(0.2))
    return std::to_string(low + 2000 + static_cast<std::int64_t>(below(3)));
  return std::to_string(low + static_cast<std::int64_t>(below(range)));
}

std::string RandomScenario::scalar(const Key& key) {
  switch (key.type) {
    case Type::kEnum: return std::string(key.allowed[below(key.allowed.size())]);
    case Type::kBool: return chance(0.5) ? "true" : "false";
    case Type::kInteger: return integer(key);
    case Type::kNumber: {
      const double share = static_cast<double>(1 + below(1000)) / 1000;
      return print_number(key.min + (std::min(key.max, key.min + 10) - key.min) * share);
    }
    case Type::kQuantity: return print_quantity(key.min + static_cast<double>(1 + below(5000)) / 977, key.dimension);
    case Type::kPath: return "numbers.txt";
    case Type::kIdentifier: return key.name == "name" ? "default" : "abc";
    case Type::kNodeRef: return "main";
    default: break;
  }
  if (key.name == "gpu") return "H200-SXM";
  if (key.name == "config") return chance(0.5) ? "Qwen/Qwen3-8B" : "./config.json";
  if (key.named == "platforms") return chance(0.5) ? "none" : "h200-vm";
  if (key.name == "policy") return chance(0.5) ? "static" : "random";
  return chance(0.5) ? "default" : "'it''s: a # name'";
}

std::string RandomScenario::broken() {
  constexpr const char* kBroken[] = {
      "yes",   "-1",  "1e999",   "nan", "[]",  "{}",    "''",      "0x10",   "5 parsecs",
      "~",     "[a]", "{a: b}",  "*x",  "&x",  "!!str", "'\\n'",   "[[[]]]", "99999999999999999999",
      "1.5.2", "??",  "\"\\0\"", "-",   "a b", "host",  "pools.x", "0",      "<<"};
  return kBroken[below(std::size(kBroken))];
}

}  // namespace dooly::scenario::test
