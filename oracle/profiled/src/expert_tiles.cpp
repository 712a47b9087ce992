#include "oracle_profiled/expert_tiles.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

/// Measured: what a tile's rows add to its time over what the tile does.
constexpr double kFull = 0.25;
constexpr double kDeviations = 5;  // beyond which there is nobody

double normal_below(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

}  // namespace

double ExpertTiles::balanced(double tokens) const {
  const double rows = tokens * per_token_, fewer = std::floor(rows / experts_), more = rows - fewer * experts_;
  return (experts_ - more) * std::ceil(fewer / kRows) + more * std::ceil((fewer + 1) / kRows);
}

double ExpertTiles::progress(double tokens) const { return balanced(tokens) + kFull * tokens * per_token_ / kRows; }

double ExpertTiles::random_over_balanced(double tokens) const {
  if (!are_possible() || tokens < 1) return 1;
  return experts_ * (1 - std::pow(1 - per_token_ / experts_, tokens)) / std::min(experts_, tokens * per_token_);
}

double ExpertTiles::random_seconds(double tokens, const std::function<double(double)>& balanced_seconds) const {
  const double chance = per_token_ / experts_, rows = tokens * chance;
  const double deviation = std::sqrt(rows * (1 - chance));
  const double in_use = random_over_balanced(tokens);
  const double fewest = std::max(1.0, std::ceil((rows - kDeviations * deviation) / kRows));
  const double most = std::max(fewest, std::ceil((rows + kDeviations * deviation) / kRows));
  if (most == fewest || rows > kMostTiles * kRows) return in_use * balanced_seconds(tokens);
  double seconds = 0, before = 0;
  for (double tiles = fewest; tiles <= most; ++tiles) {
    const double below = tiles == most ? 1 : normal_below((tiles * kRows + 0.5 - rows) / deviation);
    const double least = tokens_at((tiles - 1) * kRows + 1), greatest = tokens_at(tiles * kRows);
    seconds += (below - before) * balanced_seconds(std::clamp(tokens, least, greatest));
    before = below;
  }
  return in_use * seconds;
}

std::vector<double> ExpertTiles::random_places(double most_tokens) const {
  constexpr double kEach = 32, kOctave = 8;
  std::vector<double> places;
  if (!are_possible()) return places;
  for (double tokens = 1; tokens <= std::min(kEach, most_tokens); ++tokens) places.push_back(tokens);
  for (double tokens = kEach; tokens <= most_tokens; tokens *= std::exp2(1 / kOctave))
    places.push_back(std::round(tokens));
  for (double rows = kRows; rows <= kMostTiles * kRows && tokens_at(rows) <= most_tokens; rows += kRows) {
    const double deviation = std::sqrt(rows * (1 - per_token_ / experts_));
    for (double away = -3; away <= 3; away += 0.5) places.push_back(std::round(tokens_at(rows + away * deviation)));
  }
  std::erase_if(places, [&](double tokens) { return tokens < 1 || tokens > most_tokens; });
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace dooly::oracle
