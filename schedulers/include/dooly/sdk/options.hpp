#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dooly::sdk {

enum class OptionType : std::uint8_t { kNumber, kInteger, kBoolean, kText };

/// One option that a policy, router or oracle understands. Options not listed are refused before it is created.
struct OptionSpec {
  const char* name = "";
  OptionType type = OptionType::kNumber;
  const char* fallback = "";  ///< default, written as in YAML; "" = required
  double min = -1e300;
  double max = 1e300;
  const char* allowed = "";  ///< for text: "a|b|c"; "" = any
  const char* help = "";
};

/// Validated option values, every option of the schema present. Asking for an option that the schema lacks, or for a
/// number where the schema says text, throws: a bug of the policy, found by its first test.
class Options {
 public:
  Options() = default;
  explicit Options(std::vector<std::pair<std::string, std::string>> values) : values_(std::move(values)) {}
  std::string_view text(std::string_view name) const;
  double number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }

 private:
  template <class Number>
  Number parsed(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> values_;
};

inline std::string_view Options::text(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  throw std::out_of_range("option '" + std::string(name) + "' is not in the schema");
}

/// std::from_chars: the same in every locale.
template <class Number>
Number Options::parsed(std::string_view name) const {
  const std::string_view written = text(name);
  Number value{};
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc{} || end != written.data() + written.size()) {
    throw std::invalid_argument("option '" + std::string(name) + "' is no number: " + std::string(written));
  }
  return value;
}
inline double Options::number(std::string_view name) const { return parsed<double>(name); }
inline std::int64_t Options::integer(std::string_view name) const { return parsed<std::int64_t>(name); }

/// Every option at its default; required ones are left out. For tests; the program validates what users give.
inline Options default_options(std::span<const OptionSpec> schema) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const OptionSpec& option : schema) {
    if (*option.fallback != '\0') values.emplace_back(option.name, option.fallback);
  }
  return Options(std::move(values));
}

}  // namespace dooly::sdk
