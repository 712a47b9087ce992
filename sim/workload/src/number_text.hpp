#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dooly::workload {

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// A decimal number, whatever the locale; nothing around it. Accepts `nan` and `inf`, which callers refuse by range.
inline std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::abs(value) < 1 ? 0.0 : HUGE_VAL;
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// A whole number; a fraction of zeros (`12.0`, as some tools write) is accepted.
inline std::optional<std::int64_t> whole_in(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  if (!rest.empty() && (rest[0] != '.' || rest.size() < 2 || rest.find_first_not_of('0', 1) != rest.npos))
    return std::nullopt;
  return value;
}

inline std::optional<std::uint64_t> unsigned_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace dooly::workload
