#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dooly::import_ {

/// Powers of ten between a unit in a file and a second.
constexpr int kMilliseconds = -3;
constexpr int kMicroseconds = -6;
constexpr int kNanoseconds = -9;

/// The decimal `text` × 10^exponent, rounded once: 12.3 of microseconds is exactly the double nearest to 1.23e-05.
/// Empty unless the whole text is a number. "nan" and "inf" are numbers.
std::optional<double> scaled_number(std::string_view text, int exponent = 0);

/// A count: digits, or a decimal that is whole ("16.0").
std::optional<std::uint64_t> whole_number(std::string_view text);

/// Shortest decimal that `scaled_number(…, exponent)` reads back as `value`.
std::string scaled_text(double value, int exponent);

}  // namespace dooly::import_
