#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::cli {

/// The nearest of `known` to `word` (at most half of its letters and three in all differ), or empty.
std::string_view nearest(std::string_view word, std::span<const std::string> known);

/// "a, b, c".
std::string listed(std::span<const std::string> words);

/// "what, got 'word'; did you mean 'near'; allowed: a, b", the middle only where something is near.
std::string refused_word(std::string_view what, std::string_view word, std::span<const std::string> known);

/// Rows with their columns aligned, two spaces apart; the last column is not padded.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 0);

/// Broken at spaces into lines of at most `width` characters, all but the first indented.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t count);

}  // namespace dooly::cli
