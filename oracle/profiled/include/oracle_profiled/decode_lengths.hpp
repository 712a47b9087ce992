#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dooly::oracle {

/// Standard deviation of the contexts. Of whole numbers, n Σc² − (Σc)², so that it does not change by a bit when all
/// contexts grow alike.
inline double context_deviation(const BatchShape& shape) {
  __extension__ using Wide = unsigned __int128;
  const Wide squares = static_cast<Wide>(shape.decode_context_squares) * shape.decodes;
  const Wide square = static_cast<Wide>(shape.decode_context) * shape.decode_context;
  if (squares <= square) return 0;
  const Wide over = squares - square;
  const auto low = static_cast<std::uint64_t>(over);
  return std::sqrt(over == low ? static_cast<double>(low) : static_cast<double>(over)) / shape.decodes;
}

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
  double deviation;  ///< standard deviation
};

/// Two lengths that stand for unequal contexts: the longest, and one of the others, with the same sum and the same sum
/// of squares. In whole tokens, means in steps, so that decodes that grow by a token each share most of them.
struct TwoLengths {
  double decodes = 0, mean = 0, deviation = 0, beyond = 0;  ///< `beyond` the mean is the longest

  TwoLengths() = default;
  explicit TwoLengths(const DecodeMean& of)
      : decodes(of.decodes),
        mean(step_of(of.mean)),
        deviation(whole(of.deviation)),
        beyond(whole(std::max(0.0, of.longest - of.mean))) {}
  static double step_of(double mean) {
    constexpr double kStep = 4;
    return kStep * std::max(1.0, whole(mean / kStep));
  }
  /// Tokens by which those that are not the longest lie below the mean.
  double shorter() const { return deviation > 0 && beyond > 0 ? deviation * deviation / beyond : 0; }
  FlashTiles::Launch launch() const { return launch(shorter()); }
  /// `below` the mean: shorter().
  FlashTiles::Launch launch(double below) const {
    const double variance = deviation * deviation;
    if (!(variance > 0) || !(beyond > 0)) return {decodes, mean};
    const double many = decodes * variance / (variance + beyond * beyond);
    return {.decodes = decodes - many,
            .attended = std::max(1.0, mean - below),
            .long_decodes = many,
            .long_attended = mean + beyond};
  }
  /// From the time of equal contexts to that of two lengths, which alone counts where they differ enough.
  static double blended(double even, double apart, double cv) {
    constexpr double kApart = 0.25;
    return cv >= kApart ? apart : even + (apart - even) * (cv / kApart);
  }

 private:
  static double whole(double x) {  // not negative; halves go up
    return static_cast<double>(static_cast<std::int64_t>(x + 0.5));  // NOLINT(bugprone-incorrect-roundings)
  }
};

}  // namespace dooly::oracle
