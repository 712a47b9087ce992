#include "workload/sampler.hpp"

#include "number_file.hpp"
#include "workload/exact_math.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace dooly::workload {

LognormalLaw lognormal_from(double mean, double p99) {
  constexpr double kZ99 = 2.3263478740408411;  // the standard normal's 99 % point
  if (!(mean > 0) || !(p99 >= mean)) return {};
  const double inside = kZ99 * kZ99 - 2 * exact_log(p99 / mean);
  if (inside < 0) return {};
  const double sigma = kZ99 - std::sqrt(inside);
  return {true, exact_log(mean) - sigma * sigma / 2, sigma};
}

Sampler::Sampler(const scenario::Distribution& law, Kind kind, const std::string& what) : what_(what), kind_(kind) {
  std::visit([this](const auto& each) { set_up(each); }, law);
}

void Sampler::refuse(const std::string& why) const { throw WorkloadError(what_ + ": " + why); }

double Sampler::check(double value) const {
  const double low = kind_ == Kind::kWhole ? 1 : 0;
  const double high = kind_ == Kind::kWhole ? kMaxTokens : 1e10;
  if (!(value >= low && value <= high)) refuse(fmt::format("must be from {} to {}, got {}", low, high, value));
  if (kind_ == Kind::kWhole && value != std::floor(value)) refuse(fmt::format("must be whole, got {}", value));
  return value;
}

void Sampler::set_up(const scenario::Fixed& law) { a_ = check(law.value); }

void Sampler::set_up(const scenario::Uniform& law) {
  law_ = kind_ == Kind::kWhole ? Law::kUniformWhole : Law::kUniform;
  a_ = check(law.low);
  b_ = check(law.high);
  if (b_ < a_) refuse(fmt::format("uniform: high {} is below low {}", b_, a_));
}

void Sampler::set_up(const scenario::Lognormal& law) {
  law_ = kind_ == Kind::kWhole ? Law::kLognormalWhole : Law::kLognormal;
  const LognormalLaw solved = lognormal_from(law.mean, law.p99);
  if (!solved.solvable) refuse(fmt::format("no lognormal law has mean {} and p99 {}", law.mean, law.p99));
  if (solved.sigma == 0) {  // p99 = mean: one value
    law_ = Law::kFixed;
    a_ = check(kind_ == Kind::kWhole ? std::max(1.0, std::floor(law.mean + 0.5)) : law.mean);
    return;
  }
  a_ = solved.mu;
  b_ = solved.sigma;
  c_ = law.max;
  if (!(c_ >= exact_exp(a_) * (1 - 1e-9)))
    refuse(fmt::format("lognormal: max {} is below the median {}", c_, exact_exp(a_)));
  check(kind_ == Kind::kWhole ? std::floor(c_) : c_);
}

// Vose's alias method: a draw costs one random number and one table row, whatever the range.
void Sampler::set_up(const scenario::Zipf& law) {
  constexpr double kMaxRange = 1 << 22;
  law_ = Law::kZipf;
  if (kind_ != Kind::kWhole) refuse("zipf is for whole numbers");
  a_ = check(law.low);
  const double range = check(law.high) - a_ + 1;
  if (!(range >= 1 && range <= kMaxRange)) refuse(fmt::format("zipf: 1 to {} values, got {}", kMaxRange, range));
  if (!(law.exponent >= 0 && law.exponent <= 100))
    refuse(fmt::format("zipf: exponent from 0 to 100, got {}", law.exponent));
  const auto n = static_cast<std::size_t>(range);
  std::vector<double> weight(n);
  double total = 0;
  for (std::size_t i = n; i-- > 0;) {  // smallest first, for the sum's accuracy
    weight[i] = exact_exp(-law.exponent * exact_log(static_cast<double>(i + 1)));
    total += weight[i];
  }
  keep_.assign(n, 1);
  alias_.resize(n);
  std::vector<std::uint32_t> small, large;
  for (std::size_t i = 0; i < n; ++i) {
    weight[i] *= static_cast<double>(n) / total;
    alias_[i] = static_cast<std::uint32_t>(i);
    (weight[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t less = small.back(), more = large.back();
    small.pop_back();
    keep_[less] = weight[less];
    alias_[less] = more;
    weight[more] -= 1 - weight[less];
    if (weight[more] < 1) {
      large.pop_back();
      small.push_back(more);
    }
  }
}

void Sampler::set_up(const scenario::Empirical& law) {
  law_ = Law::kEmpirical;
  values_ = read_numbers(law.path, law.column, [this](double value) { check(value); });
}

double Sampler::draw(RandomStream& random) const {
  switch (law_) {
    case Law::kFixed: return a_;
    case Law::kUniformWhole: return a_ + static_cast<double>(random.below(static_cast<std::uint64_t>(b_ - a_) + 1));
    case Law::kUniform: return a_ + (b_ - a_) * random.unit();
    case Law::kEmpirical: return values_[random.below(values_.size())];
    case Law::kZipf: {
      const double scaled = random.unit() * static_cast<double>(keep_.size());
      const auto column = static_cast<std::size_t>(scaled);
      const bool kept = scaled - static_cast<double>(column) < keep_[column];
      return a_ + static_cast<double>(kept ? column : alias_[column]);
    }
    case Law::kLognormalWhole:
    case Law::kLognormal: break;
  }
  for (;;) {
    const double value = exact_exp(a_ + b_ * random.normal());
    if (law_ == Law::kLognormal) {
      if (value <= c_) return value;
      continue;
    }
    if (value <= c_) return std::max(1.0, std::min(std::floor(value + 0.5), std::floor(c_)));
  }
}

}  // namespace dooly::workload
