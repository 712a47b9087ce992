#include "host_fit.hpp"

#include "oracle/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace dooly::validate {
namespace {

constexpr std::array<std::string_view, 2> kByMode{"launch", "lead"};
constexpr double kDifference = 4e-3;  ///< seconds: well above the noise of requests that just catch a step
constexpr int kMostSteps = 4, kMostHalvings = 3;
constexpr double kWorthwhile = 0.999;  ///< a step must bring the error below this part of the one before
constexpr int kSweeps = 500;
constexpr double kUsual = 0.03;  ///< residuals much larger are of requests that just missed a step, or just did not

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector product(const Vector& a, const Vector& b) {
  Vector out = a;
  for (std::size_t i = 0; i < a.size(); ++i) out[i] *= b[i];
  return out;
}

double mean_size(const Vector& values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Weights under which squares grow as sizes do beyond kUsual.
Vector weights_of(const Vector& residuals) {
  Vector weights;
  for (const double each : residuals) weights.push_back(1 / std::sqrt(1 + each * each / (kUsual * kUsual)));
  return weights;
}

double cost_of(const Vector& residuals) {
  double sum = 0;
  for (const double each : residuals) sum += std::sqrt(1 + each * each / (kUsual * kUsual)) - 1;
  return sum;
}

HostTerms terms_of(const std::vector<HostParameter>& parameters, const Vector& values) {
  HostTerms terms;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (const std::string& term : parameters[i]) terms[term] = values[i];
  return terms;
}

/// x >= 0 that minimises the weighted |residuals + J (x − at)|², by cyclic coordinate descent on the normal equations:
/// they are few and well conditioned. `slopes` are the columns of J.
Vector solve(const std::vector<Vector>& slopes, const Vector& residuals, const Vector& weights, const Vector& at) {
  std::vector<Vector> weighted;
  for (const Vector& slope : slopes) weighted.push_back(product(slope, weights));
  Vector x = at;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      double gradient = dot(weighted[i], residuals);
      for (std::size_t j = 0; j < x.size(); ++j) gradient += dot(weighted[i], slopes[j]) * (x[j] - at[j]);
      const double curvature = dot(weighted[i], slopes[i]);
      if (curvature > 0) x[i] = std::max(0.0, x[i] - gradient / curvature);
    }
  }
  return x;
}

}  // namespace

std::vector<HostParameter> host_parameters(const std::string& word) {
  if (word == "gaps") return {{"gaps_piecewise", "gaps_none"}};
  if (std::find(kByMode.begin(), kByMode.end(), word) != kByMode.end())
    return {{word + "_full"}, {word + "_piecewise", word + "_none"}};
  for (const oracle::PlatformTerm& term : oracle::platform_terms())
    if (term.key == word) return {{word}};
  throw std::invalid_argument(fmt::format("no host time is called '{}'", word));
}

HostFit fit_host_terms(const std::vector<HostParameter>& parameters,
                       const std::function<std::vector<double>(const HostTerms&)>& residuals) {
  HostFit fit;
  const auto evaluate = [&](const Vector& at) {
    ++fit.runs;
    return residuals(terms_of(parameters, at));
  };
  Vector at(parameters.size(), 0.0);
  Vector here = evaluate(at);
  fit.error_before = fit.error_after = mean_size(here);
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<Vector> slopes;
    for (std::size_t i = 0; i < at.size(); ++i) {
      Vector beside = at;
      beside[i] += kDifference;
      Vector slope = evaluate(beside);
      for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = (slope[k] - here[k]) / kDifference;
      slopes.push_back(std::move(slope));
    }
    Vector next = solve(slopes, here, weights_of(here), at);
    Vector there = evaluate(next);
    for (int halving = 0; halving < kMostHalvings && !(cost_of(there) < cost_of(here) * kWorthwhile); ++halving) {
      for (std::size_t i = 0; i < at.size(); ++i) next[i] = (next[i] + at[i]) / 2;
      there = evaluate(next);
    }
    if (!(cost_of(there) < cost_of(here) * kWorthwhile)) break;
    at = next;
    here = std::move(there);
    fit.error_after = mean_size(here);
  }
  fit.terms = terms_of(parameters, at);
  return fit;
}

}  // namespace dooly::validate
