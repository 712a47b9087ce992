#pragma once

#include "scenarios/distribution.hpp"
#include "workload/random_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::workload {

/// Draws from one of a scenario's distributions. Stateless: the caller's stream is all that advances.
class Sampler {
 public:
  /// Whole numbers of at least 1 (tokens, turns), or times in seconds of at least 0.
  enum class Kind { kWhole, kSeconds };

  /// `what` names the distribution in errors. Reads the file of an empirical law. Throws WorkloadError if the law
  /// cannot give a value of that kind.
  Sampler(const scenario::Distribution& law, Kind kind, const std::string& what);

  double draw(RandomStream& random) const;
  /// kWhole only.
  std::uint32_t draw_whole(RandomStream& random) const { return static_cast<std::uint32_t>(draw(random)); }

 private:
  enum class Law { kFixed, kUniformWhole, kUniform, kLognormalWhole, kLognormal, kZipf, kEmpirical };
  void set_up(const scenario::Fixed& law);
  void set_up(const scenario::Uniform& law);
  void set_up(const scenario::Lognormal& law);
  void set_up(const scenario::Zipf& law);
  void set_up(const scenario::Empirical& law);
  double check(double value) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string what_;
  Kind kind_;
  Law law_ = Law::kFixed;
  double a_ = 0, b_ = 0, c_ = 0;       ///< fixed: value; uniform: low, high; lognormal: mu, sigma, max; zipf: low
  std::vector<double> values_;         ///< empirical
  std::vector<double> keep_;           ///< zipf, alias method: probability to keep the column …
  std::vector<std::uint32_t> alias_;   ///< … else this one
};

/// The largest number of tokens that any field may hold; more is taken for a mistake.
inline constexpr std::uint32_t kMaxTokens = 100'000'000;

/// The lognormal law with this mean and 99th percentile: the smaller sigma that solves
/// ln(p99 / mean) = z sigma - sigma^2 / 2. `solvable` is false if none does.
struct LognormalLaw {
  bool solvable = false;
  double mu = 0;
  double sigma = 0;
};
LognormalLaw lognormal_from(double mean, double p99);

}  // namespace dooly::workload
