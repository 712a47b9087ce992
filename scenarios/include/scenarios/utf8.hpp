#pragma once

#include <cstddef>
#include <string_view>

namespace dooly::scenario {

/// Offset of the first byte that is not part of well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF);
/// npos if there is none.
inline std::size_t first_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto follows = [&](std::size_t at) { return (byte(at) & 0xC0U) == 0x80U; };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned lead = byte(at), next = byte(at + 1);
    std::size_t size = 0;
    if (lead < 0x80) {
      size = 1;
    } else if (lead >= 0xC2 && lead <= 0xDF && follows(at + 1)) {
      size = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF && follows(at + 1) && follows(at + 2)) {
      size = (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ? 0 : 3;
    } else if (lead >= 0xF0 && lead <= 0xF4 && follows(at + 1) && follows(at + 2) && follows(at + 3)) {
      size = (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F) ? 0 : 4;
    }
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

}  // namespace dooly::scenario
