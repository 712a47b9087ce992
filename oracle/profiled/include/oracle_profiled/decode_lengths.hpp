#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dooly::oracle {

/// How far contexts lie from their mean, in tokens and their square.
struct Spread {
  double variance = 0, deviation = 0;

  Spread() = default;
  /// Of whole numbers, n Σc² − (Σc)², so that it does not change by a bit when all contexts grow alike.
  explicit Spread(const BatchShape& shape) {
    __extension__ using Wide = unsigned __int128;
    const Wide squares = static_cast<Wide>(shape.decode_context_squares) * shape.decodes;
    const Wide square = static_cast<Wide>(shape.decode_context) * shape.decode_context;
    if (squares <= square) return;
    const Wide over = squares - square;
    const auto low = static_cast<std::uint64_t>(over);
    const double n = shape.decodes, number = over == low ? static_cast<double>(low) : static_cast<double>(over);
    variance = number / (n * n);
    deviation = std::sqrt(number) / n;
  }
};

/// Mean of the tokens that decodes attend to, the token itself counted, in two parts: that below a token is the same in
/// all steps of the same decodes.
struct MeanTokens {
  std::uint64_t whole;
  double part;
  explicit MeanTokens(const BatchShape& shape)
      : whole(shape.decode_context / shape.decodes + 1),
        part(static_cast<double>(static_cast<std::uint32_t>(shape.decode_context % shape.decodes)) / shape.decodes) {}
  double after(std::uint64_t steps) const {
    return static_cast<double>(static_cast<std::int64_t>(whole + steps)) + part;
  }
};

/// The decodes of a batch as so many equal ones, and how unequal they are.
struct DecodeMean {
  double decodes, attended;
  double cv;  ///< coefficient of variation
  double place;  ///< on the decode surface
  double mean;  ///< tokens with the token itself, hidden by a window or not
  double longest;  ///< the same of the longest; 0: not told
  Spread spread;
  double lean;  ///< half of the mean cube of what contexts are off the mean, over their variance; tokens
};

inline double whole_tokens(double x) {  // not negative; halves go up
  return static_cast<double>(static_cast<std::int64_t>(x + 0.5));  // NOLINT(bugprone-incorrect-roundings)
}

/// Lean of two lengths of which the longer is the longest.
inline double lean_by_longest(const DecodeMean& mean) {
  const double beyond = whole_tokens(std::max(0.0, mean.longest - mean.mean));
  return beyond > 0 ? (beyond - mean.spread.variance / beyond) / 2 : 0;
}

/// Whether the sum of cubes is told, and below 2^64.
inline bool are_cubes_told(const BatchShape& shape, double longest) {
  constexpr double kMost = 18e18;
  return shape.decode_context_cubes != 0 && shape.decodes * longest * longest * longest < kMost;
}

/// Of whole numbers too: n² Σc³ - 3n Σc Σc² + 2 (Σc)³. Where the cubes are not told, by the longest.
inline double context_lean(const BatchShape& shape, const DecodeMean& mean) {
  if (!are_cubes_told(shape, mean.longest)) return lean_by_longest(mean);
  __extension__ using Wide = __int128;
  const Wide n = shape.decodes, sum = shape.decode_context;
  const Wide cubes =
      n * n * Wide{shape.decode_context_cubes} + sum * (2 * sum * sum - 3 * n * Wide{shape.decode_context_squares});
  constexpr double kTwoTo64 = 18446744073709551616.0;
  const auto low = static_cast<std::int64_t>(cubes);  // most fit, and are converted faster
  const double as_number = low == cubes ? static_cast<double>(low)
                                        : static_cast<double>(static_cast<std::int64_t>(cubes >> 64)) * kTwoTo64 +
                                              static_cast<double>(static_cast<std::uint64_t>(cubes));
  return as_number / (2 * mean.decodes * mean.decodes * mean.decodes * mean.spread.variance);
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
