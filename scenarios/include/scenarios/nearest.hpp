#pragma once

#include <span>
#include <string_view>

namespace dooly::scenario {

/// What a user who wrote `word` probably meant of `known`, or empty: the same in other case, a name that begins with it
/// (the shortest), a misspelling, a name that ends with it or holds it, a name with something added.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace dooly::scenario
