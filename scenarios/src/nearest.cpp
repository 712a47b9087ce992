#include "scenarios/nearest.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace dooly::scenario {
namespace {

constexpr std::size_t kLongest = 80;       // a longer word is no misspelt name
constexpr std::size_t kShortestPart = 3;   // fewer letters begin or end too much

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// How two words are alike, best first; within one kind, fewer letters between them are better.
enum class Kind { kCase, kBegins, kMisspelt, kEnds, kHolds, kLonger };
struct Likeness {
  Kind kind;
  std::size_t distance;
  auto operator<=>(const Likeness&) const = default;
};

std::optional<Likeness> likeness(std::string_view word, std::string_view candidate) {
  const auto by_length = [&](Kind kind) {
    return Likeness{kind, std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size())};
  };
  if (word == candidate) return by_length(Kind::kCase);
  const bool is_part = word.size() >= kShortestPart;
  if (is_part && candidate.starts_with(word)) return by_length(Kind::kBegins);
  const std::size_t edits = edit_distance(word, candidate);
  if (edits <= std::max<std::size_t>(1, word.size() / 3)) return Likeness{Kind::kMisspelt, edits};
  if (is_part && candidate.ends_with(word)) return by_length(Kind::kEnds);
  if (is_part && candidate.find(word) != candidate.npos) return by_length(Kind::kHolds);
  if (candidate.size() >= kShortestPart && word.starts_with(candidate)) return by_length(Kind::kLonger);
  return {};
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kLongest) return {};
  const std::string lower = lowered(word);
  std::string_view best;
  std::optional<Likeness> most;
  for (const std::string_view candidate : known) {
    const auto like = likeness(lower, lowered(candidate));
    if (!like || (most && *most <= *like)) continue;
    most = like;
    best = candidate;
  }
  return best;
}

}  // namespace dooly::scenario
