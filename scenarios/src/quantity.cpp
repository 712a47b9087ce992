#include "quantity.hpp"

#include <charconv>
#include <cmath>

namespace dooly::scenario {
namespace {

/// value = number * times / divided_by: both exact, so that "20ms" is the double nearest to 0.02.
struct Unit {
  std::string_view name;
  double times;
  double divided_by;
};

const std::vector<Unit>& units(Dimension dimension) {
  static const std::vector<Unit> none;
  static const std::vector<Unit> time = {{"us", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1},
                                         {"m", 60, 1},   {"h", 3600, 1}, {"d", 86400, 1}};
  static const std::vector<Unit> rate = {{"/s", 1, 1}, {"/min", 1, 60}, {"/h", 1, 3600}};
  static const std::vector<Unit> bandwidth = {{"Gbps", 1e9, 8},  {"Mbps", 1e6, 8},    {"GB/s", 1e9, 1},
                                              {"MB/s", 1e6, 1},  {"KB/s", 1e3, 1},    {"B/s", 1, 1},
                                              {"TB/s", 1e12, 1}, {"GiB/s", 0x1p30, 1}};
  switch (dimension) {
    case Dimension::kTime: return time;
    case Dimension::kRate: return rate;
    case Dimension::kBandwidth: return bandwidth;
    case Dimension::kNone: break;
  }
  return none;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of the number at the start of `text`, 0 if there is none.
std::size_t number_length(std::string_view text) {
  std::size_t i = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t digits_from = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  if (i == digits_from) return 0;
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1]))
    for (++i; i < text.size() && is_digit(text[i]);) ++i;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    if (j < text.size() && (text[j] == '-' || text[j] == '+')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      while (j < text.size() && is_digit(text[j])) ++j;
      i = j;
    }
  }
  return i;
}

std::string printed(double value) {
  char buffer[64];
  const double size = std::abs(value);
  const bool is_readable = size == 0 || (size >= 1e-6 && size < 1e15);
  const auto end = is_readable ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr
                               : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '-') digits.remove_prefix(1);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return {};  // 007 is octal to some readers
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || number_length(text) != text.size()) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value == 0 ? 0 : value;  // no negative zero
}

QuantityResult parse_quantity(std::string_view text, Dimension dimension) {
  const std::size_t length = number_length(text);
  const std::optional<double> number = parse_number(text.substr(0, length));
  if (!number) return {};
  std::string_view unit = text.substr(length);
  if (unit.empty()) return {{}, true};
  if (unit[0] == ' ') unit.remove_prefix(1);
  for (const Unit& known : units(dimension))
    if (known.name == unit) {
      const double value = *number * known.times / known.divided_by;
      return std::isfinite(value) ? QuantityResult{value, false} : QuantityResult{};
    }
  return {};
}

std::vector<std::string_view> units_of(Dimension dimension) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units(dimension)) names.push_back(unit.name);
  return names;
}

std::string_view example_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime: return "10ms";
    case Dimension::kRate: return "20/s";
    case Dimension::kBandwidth: return "400Gbps";
    case Dimension::kNone: break;
  }
  return "1";
}

std::string print_number(double value) { return printed(value); }

std::string print_quantity(double value, Dimension dimension) {
  constexpr std::size_t kCostOfFraction = 3;  // 500ms reads better than 0.5s
  std::string best;
  std::size_t best_cost = 0;
  for (const Unit& unit : units(dimension)) {
    if (dimension == Dimension::kTime && unit.times > 1) continue;  // seconds read better than fractions of an hour
    const std::string text = printed(value * unit.divided_by / unit.times) + std::string(unit.name);
    if (parse_quantity(text, dimension).value != value) continue;
    const bool is_plain = unit.times == 1 && unit.divided_by == 1;
    const bool is_fraction = text.find_first_of(".e") != std::string::npos;
    const std::size_t cost = 2 * (text.size() + (is_fraction ? kCostOfFraction : 0)) + (is_plain ? 0 : 1);
    if (best.empty() || cost < best_cost) {
      best = text;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace dooly::scenario
