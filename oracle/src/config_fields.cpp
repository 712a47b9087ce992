#include "config_fields.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>

namespace dooly::oracle {

namespace {

/// Python writes Infinity and NaN, which JSON does not know; no key that is read here has such a value.
std::string without_python_numbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') quoted = false;
      continue;
    }
    quoted = c == '"';
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (text.substr(i).starts_with(word)) {
        out += "null";
        i += word.size() - 1;
        replaced = true;
        break;
      }
    }
    if (!replaced) out += c;
  }
  return out;
}

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

ConfigFields::ConfigFields(std::string_view json_text, std::string_view name) : name_(name) {
  try {
    root_ = nlohmann::json::parse(without_python_numbers(json_text));
  } catch (const nlohmann::json::exception& error) {
    throw OracleError(fmt::format("model {}: not a JSON file: {}", name_, error.what()));
  }
  if (!root_.is_object()) throw OracleError(fmt::format("model {}: config is not a JSON object", name_));
  const auto nested = root_.find("text_config");
  if (nested != root_.end() && nested->is_object()) text_ = &*nested;
}

const nlohmann::json* ConfigFields::find(std::string_view key) const {
  for (const nlohmann::json* object : {text_, static_cast<const nlohmann::json*>(&root_)}) {
    if (object == nullptr) continue;
    const auto found = object->find(key);
    if (found != object->end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

void ConfigFields::fail(std::string_view key, std::string_view problem) const {
  throw OracleError(fmt::format("model {}: {}: {}", name_, key, problem));
}

std::uint32_t ConfigFields::integer(const nlohmann::json& value, std::string_view key, std::uint32_t low,
                                    std::uint32_t high) const {
  const std::string allowed = fmt::format("must be an integer from {} to {}, got {}", low, high, shown(value));
  if (!value.is_number_integer()) fail(key, allowed);
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number < low || number > high) fail(key, allowed);
    return static_cast<std::uint32_t>(number);
  }
  fail(key, allowed);  // negative
}

std::uint32_t ConfigFields::size(std::initializer_list<std::string_view> keys, std::uint32_t limit) const {
  for (const std::string_view key : keys) {
    if (const nlohmann::json* value = find(key)) return integer(*value, key, 1, limit);
  }
  fail(*keys.begin(), "missing");
}

std::uint32_t ConfigFields::size_or(std::initializer_list<std::string_view> keys, std::uint32_t limit,
                                    std::uint32_t fallback) const {
  for (const std::string_view key : keys) {
    if (const nlohmann::json* value = find(key)) return integer(*value, key, 1, limit);
  }
  return fallback;
}

std::uint32_t ConfigFields::count_or_zero(std::string_view key, std::uint32_t limit) const {
  const nlohmann::json* value = find(key);
  return value == nullptr ? 0 : integer(*value, key, 0, limit);
}

bool ConfigFields::flag_or(std::string_view key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, fmt::format("must be true or false, got {}", shown(*value)));
  return value->get<bool>();
}

double ConfigFields::share_or(std::string_view key, double fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number > 0 && number <= 1)) fail(key, fmt::format("must be a number in (0, 1], got {}", shown(*value)));
  return number;
}

double ConfigFields::number_or(std::string_view key, double fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number > 0 && number < 1e9)) fail(key, fmt::format("must be a positive number, got {}", shown(*value)));
  return number;
}

double ConfigFields::nested_number_or(std::string_view outer, std::string_view key, double fallback) const {
  const nlohmann::json* object = find(outer);
  if (object == nullptr || !object->is_object()) return fallback;
  const auto value = object->find(key);
  if (value == object->end() || value->is_null()) return fallback;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number >= 0 && number < 1e9)) {
    fail(fmt::format("{}.{}", outer, key), fmt::format("must be a number of at least 0, got {}", shown(*value)));
  }
  return number;
}

std::string ConfigFields::text_or(std::string_view key, std::string_view fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) fail(key, fmt::format("must be a text, got {}", shown(*value)));
  return value->get<std::string>();
}

std::vector<std::string> ConfigFields::texts(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (!value->is_array()) fail(key, fmt::format("must be a list, got {}", shown(*value)));
  for (const nlohmann::json& item : *value) {
    if (!item.is_string()) fail(key, fmt::format("must be a list of texts, got {}", shown(item)));
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<std::uint32_t> ConfigFields::integers(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::uint32_t> out;
  if (!value->is_array()) fail(key, fmt::format("must be a list, got {}", shown(*value)));
  for (const nlohmann::json& item : *value) out.push_back(integer(item, key, 0, 1u << 20));
  return out;
}

}  // namespace dooly::oracle
