#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dooly::results {

/// Room that write_number needs; it may write beyond the end that it returns.
inline constexpr std::size_t kNumberRoom = 48;

/// Writes the shortest decimal that reads back as exactly `value`: 0.25, 1200, 4.1e-07. Plain notation from 1e-5 to
/// below 1e16, else scientific. Independent of the locale. Writes nothing for NaN and infinities. Returns the end.
char* write_number(char* out, double value);
char* write_number(char* out, std::uint64_t value);

std::string number_text(double value);

}  // namespace dooly::results
