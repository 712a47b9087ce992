#include "text.hpp"

#include "scenarios/nearest.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dooly::cli {
std::string_view nearest(std::string_view word, std::span<const std::string> known) {
  // An option is compared by its name alone, so that its dashes do not count as letters.
  const auto bare = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  std::vector<std::string_view> names;
  for (const std::string& name : known) names.push_back(bare(name));
  const std::string_view near = scenario::nearest(bare(word), names);
  const auto found = std::find(names.begin(), names.end(), near);
  return near.empty() ? near : std::string_view(known[static_cast<std::size_t>(found - names.begin())]);
}

std::string listed(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string refused_word(std::string_view what, std::string_view word, std::span<const std::string> known) {
  std::string text = std::string(what) + ", got '" + std::string(word) + "'";
  if (const std::string_view near = nearest(word, known); !near.empty())
    text += "; did you mean '" + std::string(near) + "'";
  return text + "; allowed: " + listed(known);
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string made;
  std::size_t room = width;
  while (!text.empty()) {
    std::size_t cut = text.size() <= room ? text.size() : text.rfind(' ', room);
    if (cut == std::string_view::npos || cut == 0) cut = std::min(text.find(' '), text.size());
    made += text.substr(0, cut);
    text.remove_prefix(std::min(cut + 1, text.size()));
    if (!text.empty()) made.append("\n").append(indent, ' ');
    room = width > indent ? width - indent : 1;
  }
  return made;
}

std::string with_commas(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace dooly::cli
