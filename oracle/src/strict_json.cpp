#include "strict_json.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/json_fault.hpp"
#include "oracle/oracle_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dooly::oracle {
namespace {

constexpr int kDeepest = 256;  // levels; what follows a text down costs stack for each

void append_canonically(std::string& out, const nlohmann::json& value);

void append_object(std::string& out, const nlohmann::json& object) {
  std::vector<const nlohmann::json::object_t::value_type*> members;
  for (const auto& member : object.get_ref<const nlohmann::json::object_t&>()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* left, const auto* right) { return json_name_less(left->first, right->first); });
  out += '{';
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0) out += ',';
    append_json(out, std::string_view(members[i]->first));
    out += ':';
    append_canonically(out, members[i]->second);
  }
  out += '}';
}

void append_canonically(std::string& out, const nlohmann::json& value) {
  if (value.is_object()) return append_object(out, value);
  if (value.is_string()) return append_json(out, std::string_view(value.get_ref<const std::string&>()));
  if (value.is_boolean()) return append_json(out, value.get<bool>());
  if (value.is_number()) return append_json(out, value.get<double>());
  if (!value.is_array()) {
    out += "null";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i > 0) out += ',';
    append_canonically(out, value[i]);
  }
  out += ']';
}

}  // namespace

std::string canonical_form(std::string_view json, std::string_view what) {
  std::string out;
  append_canonically(out, parse_strictly(json, what));
  return out;
}

nlohmann::json parse_strictly(std::string_view json, std::string_view what) {
  const std::string fault = json_fault(json, kDeepest);
  if (!fault.empty()) throw OracleError(std::string(what) + ": " + fault);
  try {
    return nlohmann::json::parse(json);
  } catch (const nlohmann::json::exception& error) {
    throw OracleError(std::string(what) + ": no JSON: " + error.what());
  }
}

bool as_whole(const nlohmann::json& value, std::uint64_t limit, std::uint64_t& whole) {
  if (value.is_number_unsigned()) {
    whole = value.get<std::uint64_t>();
    if (whole > std::uint64_t{1} << 53) {  // a JSON number is a double: its shortest digits stand for it
      const double number = value.get<double>();
      if (number >= 0x1p64) return false;
      whole = static_cast<std::uint64_t>(number);
    }
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!(number >= 0 && number < 0x1p64) || std::trunc(number) != number) return false;
    whole = static_cast<std::uint64_t>(number);
  } else {
    return false;  // a negative integer, or no number
  }
  return whole <= limit;
}

StrictObject::StrictObject(const nlohmann::json& json, std::string what,
                           std::initializer_list<std::string_view> members)
    : json_(json),
      what_(std::move(what)) {
  if (!json_.is_object()) throw OracleError(what_ + ": must be a JSON object, got " + json_.dump());
  for (const auto& [name, value] : json_.items()) {
    if (std::find(members.begin(), members.end(), name) != members.end()) continue;
    std::string allowed;
    for (const std::string_view member : members) allowed.append(allowed.empty() ? "" : ", ").append(member);
    fail(name, "unknown; allowed: " + allowed);
  }
}

void StrictObject::fail(std::string_view member, std::string_view problem) const {
  throw OracleError(what_ + ": " + std::string(member) + ": " + std::string(problem));
}

const nlohmann::json* StrictObject::optional(std::string_view member) const {
  const auto found = json_.find(member);
  return found == json_.end() ? nullptr : &*found;
}

const nlohmann::json& StrictObject::required(std::string_view member) const {
  const nlohmann::json* value = optional(member);
  if (value == nullptr) fail(member, "missing");
  return *value;
}

std::string StrictObject::text(std::string_view member) const {
  const nlohmann::json& value = required(member);
  if (!value.is_string()) fail(member, "must be text, got " + value.dump());
  return value.get<std::string>();
}

std::string StrictObject::text_or(std::string_view member, std::string fallback) const {
  return has(member) ? text(member) : std::move(fallback);
}

std::uint64_t StrictObject::whole_or(std::string_view member, std::uint64_t fallback, std::uint64_t limit) const {
  const nlohmann::json* value = optional(member);
  if (value == nullptr) return fallback;
  std::uint64_t whole = 0;
  if (!as_whole(*value, limit, whole))
    fail(member, "must be a whole number from 0 to " + std::to_string(limit) + ", got " + value->dump());
  return whole;
}

std::vector<std::string> StrictObject::texts_or_none(std::string_view member) const {
  std::vector<std::string> texts;
  const nlohmann::json* value = optional(member);
  if (value == nullptr) return texts;
  if (!value->is_array()) fail(member, "must be a list, got " + value->dump());
  for (const nlohmann::json& element : *value) {
    if (!element.is_string())
      fail(std::string(member) + "[" + std::to_string(texts.size()) + "]", "must be text, got " + element.dump());
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::vector<std::uint64_t> StrictObject::wholes_or_none(std::string_view member) const {
  std::vector<std::uint64_t> wholes;
  const nlohmann::json* value = optional(member);
  if (value == nullptr) return wholes;
  if (!value->is_array()) fail(member, "must be a list, got " + value->dump());
  for (const nlohmann::json& element : *value) {
    std::uint64_t whole = 0;
    if (!as_whole(element, std::numeric_limits<std::uint64_t>::max(), whole))
      fail(std::string(member) + "[" + std::to_string(wholes.size()) + "]",
           "must be a whole number, got " + element.dump());
    wholes.push_back(whole);
  }
  return wholes;
}

}  // namespace dooly::oracle
