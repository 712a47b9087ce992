#include "oracle/operator_key.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/sha256.hpp"
#include "strict_json.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

void append_value(std::string& out, const OperatorKey::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return append_json(out, std::string_view(*text));
  std::visit(
      [&](const auto& held) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(held)>, std::string>) append_json(out, held);
      },
      value);
}

template <typename List, typename Append>
void append_list(std::string& out, const List& list, Append append) {
  out += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += ',';
    first = false;
    append(element);
  }
  out += ']';
}

void append_attributes(std::string& out, const std::map<std::string, OperatorKey::Value>& attributes) {
  std::vector<const std::pair<const std::string, OperatorKey::Value>*> sorted;
  for (const auto& attribute : attributes) sorted.push_back(&attribute);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* left, const auto* right) { return json_name_less(left->first, right->first); });
  out += '{';
  bool first = true;
  for (const auto* attribute : sorted) {
    if (!first) out += ',';
    first = false;
    append_json(out, std::string_view(attribute->first));
    out += ':';
    append_value(out, attribute->second);
  }
  out += '}';
}

/// A JSON number is a double; whole ones that are written with all their digits become integers, however spelt.
OperatorKey::Value number_value(const nlohmann::json& value) {
  const double number = value.get<double>();
  if (std::trunc(number) == number && std::abs(number) <= 0x1p53) return static_cast<std::int64_t>(number);
  return number;
}

std::map<std::string, OperatorKey::Value> parse_attributes(const StrictObject& fields) {
  std::map<std::string, OperatorKey::Value> attributes;
  const nlohmann::json* members = fields.optional("attributes");
  if (members == nullptr) return attributes;
  if (!members->is_object()) fields.fail("attributes", "must be an object, got " + members->dump());
  for (const auto& [name, value] : members->items()) {
    if (value.is_boolean())
      attributes.emplace(name, value.get<bool>());
    else if (value.is_string())
      attributes.emplace(name, value.get<std::string>());
    else if (value.is_number())
      attributes.emplace(name, number_value(value));
    else
      fields.fail("attributes." + name, "must be a truth value, a number or text, got " + value.dump());
  }
  return attributes;
}

}  // namespace

std::string Signature::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

Signature Signature::from_hex(std::string_view text) {
  const auto digit = [&](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    throw OracleError("a signature is 64 hex digits, got '" + std::string(text) + "'");
  };
  if (text.size() != 64) throw OracleError("a signature is 64 hex digits, got '" + std::string(text) + "'");
  Signature signature;
  for (std::size_t i = 0; i < 32; ++i)
    signature.bytes[i] = static_cast<std::uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return signature;
}

std::string canonical_json(const OperatorKey& key) {
  std::string out = "{\"attributes\":";
  const auto text = [&](const std::string& value) { append_json(out, std::string_view(value)); };
  append_attributes(out, key.attributes);
  out += ",\"dims\":";
  append_list(out, key.dims, [&](std::uint64_t dim) { append_json(out, dim); });
  out += ",\"dtypes\":";
  append_list(out, key.dtypes, text);
  out += ",\"family\":";
  text(key.family);
  out += ",\"kind\":";
  text(key.kind);
  out += ",\"request_dims\":";
  append_list(out, key.request_dims, text);
  out += '}';
  return out;
}

Signature signature_of(const OperatorKey& key) { return Signature{sha256(canonical_json(key))}; }

OperatorKey parse_operator_key(std::string_view json) {
  const nlohmann::json parsed = parse_strictly(json, "operator key");
  const StrictObject fields(parsed, "operator key", {"attributes", "dims", "dtypes", "family", "kind", "request_dims"});
  OperatorKey key;
  key.kind = fields.text("kind");
  key.dtypes = fields.texts_or_none("dtypes");
  key.dims = fields.wholes_or_none("dims");
  key.request_dims = fields.texts_or_none("request_dims");
  key.attributes = parse_attributes(fields);
  key.family = fields.text_or("family", "");
  return key;
}

}  // namespace dooly::oracle
