#pragma once

#include <cstddef>
#include <cstdint>
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
  const char* allowed = "";   ///< for text: "a|b|c"; "" = any
  const char* help = "";
};

/// Validated option values, every option of the schema present.
class Options {
 public:
  Options() = default;
  explicit Options(std::vector<std::pair<std::string, std::string>> values) : values_(std::move(values)) {}
  std::string_view text(std::string_view name) const;
  double number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

inline std::string_view Options::text(std::string_view name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  throw std::out_of_range("option '" + std::string(name) + "' is not in the schema");
}
inline double Options::number(std::string_view name) const { return std::stod(std::string(text(name))); }
inline std::int64_t Options::integer(std::string_view name) const { return std::stoll(std::string(text(name))); }

}  // namespace dooly::sdk
