#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// What a number counts. Every dimension but kNone needs a unit.
enum class Dimension { kNone, kTime, kRate, kBandwidth };

/// Decimal whole number, optional leading minus; empty if it is anything else (or does not fit).
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Decimal number, no NaN, infinity, hexadecimal or leading plus.
std::optional<double> parse_number(std::string_view text);

struct QuantityResult {
  std::optional<double> value;  ///< in seconds, events/s or bytes/s
  bool lacks_unit = false;      ///< a plain number
};
/// "20ms", "1.5 s", "20/s", "400Gbps". The unit follows the number, with or without a space.
QuantityResult parse_quantity(std::string_view text, Dimension dimension);

/// Units of a dimension as the user writes them, with an example first: "10ms".
std::vector<std::string_view> units_of(Dimension dimension);
std::string_view example_of(Dimension dimension);

/// Shortest text that parses back to exactly `value`.
std::string print_number(double value);
std::string print_quantity(double value, Dimension dimension);

}  // namespace dooly::scenario
