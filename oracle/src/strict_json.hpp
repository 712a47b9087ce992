#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// Parses JSON; a name that stands twice in one object is an error, as are bytes after the end
/// and more than 256 levels. `what` begins every
/// message. Throws OracleError.
nlohmann::json parse_strictly(std::string_view json, std::string_view what);

/// Checked reading of an object whose members are all known. Throws OracleError naming the member.
class StrictObject {
 public:
  /// `json` must outlive this. `what` begins every message, e.g. "operator key".
  StrictObject(const nlohmann::json& json, std::string what, std::initializer_list<std::string_view> members);

  bool has(std::string_view member) const { return json_.contains(member); }
  const nlohmann::json& required(std::string_view member) const;
  const nlohmann::json* optional(std::string_view member) const;  ///< null if absent

  std::string text(std::string_view member) const;                      ///< required
  std::string text_or(std::string_view member, std::string fallback) const;
  std::uint64_t whole_or(std::string_view member, std::uint64_t fallback, std::uint64_t limit) const;
  std::vector<std::string> texts_or_none(std::string_view member) const;
  std::vector<std::uint64_t> wholes_or_none(std::string_view member) const;

  [[noreturn]] void fail(std::string_view member, std::string_view problem) const;

 private:
  const nlohmann::json& json_;
  std::string what_;
};

/// A number of any spelling (1, 1.0, 1e0) that is a whole number in [0, limit].
bool as_whole(const nlohmann::json& value, std::uint64_t limit, std::uint64_t& whole);

}  // namespace dooly::oracle
