#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dooly::oracle {

/// Mean of the tokens that decodes attend to, the token itself counted, in two parts: that below a token is the same in
/// all steps of the same decodes.
struct MeanTokens {
  std::uint64_t whole;
  std::uint32_t rest;  ///< part × decodes
  double part;
  explicit MeanTokens(const BatchShape& shape)
      : whole(shape.decode_context / shape.decodes + 1),
        rest(static_cast<std::uint32_t>(shape.decode_context % shape.decodes)),
        part(static_cast<double>(rest) / shape.decodes) {}
  double after(std::uint64_t steps) const {
    return static_cast<double>(static_cast<std::int64_t>(whole + steps)) + part;
  }
};

/// How far contexts lie from their mean, in tokens and their square. From sums about the whole part of the mean, so
/// that it does not change by a bit when all contexts grow alike; these are small where those of the batch pass 2^64.
struct Spread {
  double variance = 0, deviation = 0;
  double lean = 0;  ///< half of the mean cube of what contexts are off the mean, over their variance; tokens
  bool is_lean_told = false;

  Spread() = default;
  Spread(const BatchShape& shape, const MeanTokens& mean) {
    constexpr double kMostSquares = 4.3e12;  // a sum of cubes is at most that of squares to the power of 3/2
    const std::uint64_t m = mean.whole - 1, rest = mean.rest, sum = shape.decode_context;
    const auto squares = whole(shape.decode_context_squares - m * (sum + rest));
    const double n = shape.decodes, part = mean.rest, number = n * squares - part * part;
    if (!(number > 0)) return;
    variance = number / (n * n);
    deviation = std::sqrt(number) / n;
    if (shape.decode_context_cubes == 0 || squares > kMostSquares) return;
    const auto cubes =
        whole(shape.decode_context_cubes - m * (3 * shape.decode_context_squares - m * (2 * sum + rest)));
    lean = (n * (n * cubes - 3 * part * squares) + 2 * part * part * part) / (2 * n * number);
    is_lean_told = true;
  }

 private:
  static double whole(std::uint64_t x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
};

/// The decodes of a batch as so many equal ones, and how unequal they are.
struct DecodeMean {
  double decodes, attended;
  double cv;  ///< coefficient of variation
  double place;  ///< on the decode surface
  double mean;  ///< tokens with the token itself, hidden by a window or not
  double longest;  ///< the same of the longest; 0: not told
  Spread spread;
  double lean;  ///< that of `spread`, or of two lengths of which the longer is the longest
};

inline double whole_tokens(double x) {  // not negative; halves go up
  return static_cast<double>(static_cast<std::int64_t>(x + 0.5));  // NOLINT(bugprone-incorrect-roundings)
}

/// Lean of two lengths of which the longer is the longest.
inline double lean_by_longest(const DecodeMean& mean) {
  const double beyond = whole_tokens(std::max(0.0, mean.longest - mean.mean));
  return beyond > 0 ? (beyond - mean.spread.variance / beyond) / 2 : 0;
}

/// Two lengths that stand for unequal contexts, with the same number, sum, sum of squares and of cubes: steps that grow
/// by a token each share all but now and then the mean, which goes in steps.
struct TwoLengths {
  double mean = 0;
  double decodes = 0, many = 0;  ///< in all, and of them the longer ones; 0: all are equal
  double shorter = 0, longer = 0;  ///< than the mean, tokens

  TwoLengths() = default;
  /// A share p of them are the longer ones: with r the mean of how far both lie off the mean, lean ÷ r is 1 - 2p.
  explicit TwoLengths(const DecodeMean& of) : mean(step_of(of.mean)), decodes(of.decodes) {
    if (!(of.spread.variance > 0)) return;
    const double off = std::sqrt(of.spread.variance + of.lean * of.lean);
    many = decodes * 0.5 * (1 - of.lean / off);
    constexpr double kRounding = 1e-6;  // contexts of two lengths are whole numbers of either
    if (const double whole = whole_tokens(many); std::abs(many - whole) < kRounding) many = whole;
    shorter = off - of.lean;
    longer = off + of.lean;
  }
  static double step_of(double mean) {
    constexpr double kStep = 4;
    return kStep * std::max(1.0, whole_tokens(mean / kStep));
  }
  FlashTiles::Launch launch() const {
    if (!(many > 0)) return {decodes, mean};
    return {.decodes = decodes - many,
            .attended = std::max(1.0, mean - shorter),
            .long_decodes = many,
            .long_attended = mean + longer};
  }
  /// From the time of equal contexts to that of two lengths, which alone counts where they differ enough.
  static double blended(double even, double apart, double cv) {
    constexpr double kApart = 0.25;
    return cv >= kApart ? apart : even + (apart - even) * (cv / kApart);
  }
};

}  // namespace dooly::oracle
