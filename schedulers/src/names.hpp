#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dooly::schedulers {

/// The nearest of `known` to `word` (at most half of its letters and three in all differ), or empty.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

/// "a, b, c".
std::string listed(const std::vector<std::string_view>& names);

/// ", did you mean 'x'" or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

/// A letter or digit, then letters, digits, '-' and '_'.
bool is_name(std::string_view text);

template <class Entries>
std::vector<std::string_view> names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

}  // namespace dooly::schedulers
