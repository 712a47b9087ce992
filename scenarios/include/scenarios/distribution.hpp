#pragma once

#include <filesystem>
#include <string>
#include <variant>

namespace dooly::scenario {

/// Laws of lengths (tokens, turns: whole numbers) and of times (seconds). The key that holds a distribution says which.

struct Fixed {
  double value = 0;
  bool operator==(const Fixed&) const = default;
};

/// Both ends included; of whole numbers each is equally likely.
struct Uniform {
  double low = 0;
  double high = 0;
  bool operator==(const Uniform&) const = default;
};

/// `mean` and `p99` are those of the untruncated law: ln X is normal with the smaller sigma that solves
/// ln(p99 / mean) = z sigma - sigma^2 / 2, z the standard normal's 99 % point. Draws above `max` are drawn again.
/// Loading has checked that a solution exists and that `max` is not below the law's median. Whole numbers: rounded, at
/// least 1.
struct Lognormal {
  double mean = 1;
  double p99 = 1;
  double max = 1;
  bool operator==(const Lognormal&) const = default;
};

/// P(k) proportional to (k - low + 1)^-exponent for the whole numbers low <= k <= high. Lengths only.
struct Zipf {
  double exponent = 1;
  double low = 1;
  double high = 1;
  bool operator==(const Zipf&) const = default;
};

/// Values drawn uniformly, with replacement, from a file (plain, gzip or zstd): one number a line, or CSV with a header
/// whose column `column` is read. Times are in seconds.
struct Empirical {
  std::filesystem::path path;  ///< absolute
  std::string column;  ///< empty: the file has a single column
  bool operator==(const Empirical&) const = default;
};

using Distribution = std::variant<Fixed, Uniform, Lognormal, Zipf, Empirical>;

}  // namespace dooly::scenario
