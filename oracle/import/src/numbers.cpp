#include "numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

namespace dooly::import_ {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Digits and a decimal exponent: value = 0.d1d2d3… × 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};

Decimal shortest_decimal(double value) {
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  Decimal decimal;
  if (text.front() == '-') {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  const auto e = text.find('e');
  int exponent = 0;
  const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(first, text.data() + text.size(), exponent);
  for (const char c : text.substr(0, e))
    if (c != '.') decimal.digits += c;
  decimal.point = exponent + 1;
  return decimal;
}

}  // namespace

std::optional<double> scaled_number(std::string_view text, int exponent) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if (exponent == 0 || text.empty()) return plain_number(text);
  std::array<char, 96> buffer{};
  const auto e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  int own = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), own);
    if (error != std::errc() || end != digits.data() + digits.size() || std::abs(own) > 10000) return std::nullopt;
  }
  if (mantissa.size() + 16 > buffer.size()) return std::nullopt;
  if (mantissa.find_first_of("0123456789") == std::string_view::npos) return plain_number(text);  // nan, inf
  std::memcpy(buffer.data(), mantissa.data(), mantissa.size());
  char* out = buffer.data() + mantissa.size();
  *out++ = 'e';
  out = std::to_chars(out, buffer.data() + buffer.size(), own + exponent).ptr;
  return plain_number(std::string_view(buffer.data(), static_cast<std::size_t>(out - buffer.data())));
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const auto real = plain_number(text);
  if (!real || !(*real >= 0) || *real > 9007199254740992.0 || std::floor(*real) != *real) return std::nullopt;
  return static_cast<std::uint64_t>(*real);
}

std::string scaled_text(double value, int exponent) {
  if (value == 0 || !std::isfinite(value)) return value == 0 ? "0" : "nan";
  const Decimal decimal = shortest_decimal(value);
  const int point = decimal.point - exponent;
  const int size = static_cast<int>(decimal.digits.size());
  std::string text = decimal.negative ? "-" : "";
  const std::string_view digits = decimal.digits;
  if (point > 18 || point < -6) {
    text.append(digits.substr(0, 1));
    if (size > 1) text.append(".").append(digits.substr(1));
    return text.append("e").append(std::to_string(point - 1));
  }
  if (point <= 0) return text.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  if (point >= size) return text.append(digits).append(static_cast<std::size_t>(point - size), '0');
  return text.append(digits.substr(0, static_cast<std::size_t>(point)))
      .append(".")
      .append(digits.substr(static_cast<std::size_t>(point)));
}

}  // namespace dooly::import_
