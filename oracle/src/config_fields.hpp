#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// Checked reading of a config.json: keys of a nested `text_config` come before those beside it, null counts as absent,
/// and every complaint names model, key and value.
class ConfigFields {
 public:
  /// Throws OracleError if the text is no JSON object.
  ConfigFields(std::string_view json_text, std::string_view name);

  const std::string& name() const { return name_; }
  const nlohmann::json* find(std::string_view key) const;  ///< null if absent
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// The first of `keys` that is present, as an integer in [1, limit]; throws if there is none.
  std::uint32_t size(std::initializer_list<std::string_view> keys, std::uint32_t limit) const;
  std::uint32_t size_or(std::initializer_list<std::string_view> keys, std::uint32_t limit,
                        std::uint32_t fallback) const;
  /// 0 is allowed, and what absence means.
  std::uint32_t count_or_zero(std::string_view key, std::uint32_t limit) const;
  bool flag_or(std::string_view key, bool fallback) const;
  double share_or(std::string_view key, double fallback) const;  ///< in (0, 1]
  double number_or(std::string_view key, double fallback) const;  ///< positive
  /// The same within the object `outer`; `fallback` if either is absent.
  double nested_number_or(std::string_view outer, std::string_view key, double fallback) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  std::vector<std::string> texts(std::string_view key) const;  ///< empty if absent
  std::vector<std::uint32_t> integers(std::string_view key) const;  ///< empty if absent

  [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

 private:
  std::uint32_t integer(const nlohmann::json& value, std::string_view key, std::uint32_t low, std::uint32_t high) const;

  std::string name_;
  nlohmann::json root_;
  const nlohmann::json* text_ = nullptr;
};

}  // namespace dooly::oracle
