#include "oracle_profiled/dealt_fit.hpp"

#include "nnls.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dooly::oracle {
namespace {

using Kernel = DealtKernel;

/// How much longer a lone tile takes, tried for each number of slots.
constexpr std::array<double, 5> kAlone{1, 1.6, 2.4, 3.4, 4.5};
constexpr std::size_t kEnough = 16;  ///< points of a variant
constexpr std::size_t kFew = 80;     ///< so few that those of other parts count

}  // namespace

double DealtFit::sum(const Kernel::Terms& weights, const Kernel::Terms& terms) {
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) sum += weights[i] * terms[i];
  return sum;
}

double DealtFit::seconds(Launch launch) const {
  launch.attended = std::min(launch.attended, most_attended_);
  launch.long_attended = std::min(launch.long_attended, most_attended_);
  const std::size_t own = kernel_->variant(launch), asked = variants_[own].is_fitted ? own : otherwise_;
  const Variant& variant = variants_[asked];
  return sum(variant.weights, kernel_->terms(launch, asked, variant.dealer));
}

/// Fits the weights if the tiles of a multiprocessor behave like that, and keeps them if that is better than `least`,
/// the sum of squared relative errors so far, which it returns.
double DealtFit::try_residency(std::size_t number, const std::vector<const Point*>& points,
                               const TileDealer::Residency& residency, double least) {
  const TileDealer dealer(kernel_->multiprocessors(), residency);
  std::vector<double> features, targets;
  for (const Point* point : points) {
    const Kernel::Terms terms = kernel_->terms(point->launch, number, dealer);
    features.insert(features.end(), terms.begin(), terms.end());
    targets.push_back(point->seconds);
  }
  const std::vector<double> fitted = fit_non_negative(features, targets);
  double squares = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double seconds = 0;
    for (std::size_t k = 0; k < Kernel::kTerms; ++k) seconds += fitted[k] * features[i * Kernel::kTerms + k];
    squares += (seconds / targets[i] - 1) * (seconds / targets[i] - 1);
  }
  if (!(squares < least)) return least;
  Variant& best = variants_[number];
  std::copy(fitted.begin(), fitted.end(), best.weights.begin());
  best.dealer = dealer;
  best.slots = residency.slots;
  best.is_fitted = true;
  return squares;
}

double DealtFit::fit_variant(std::size_t number, const std::vector<const Point*>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (const int slots : kernel_->slots(number)) {
    for (const double alone : kAlone) {
      least = try_residency(number, points, {slots, alone}, least);
      if (slots == 1) break;  // it is always alone: a matter of units
    }
  }
  const int slots = variants_[number].slots;
  for (const double alone : kAlone)
    if (slots > 1) least = try_residency(number, points, {slots, alone, true}, least);
  return least;
}

bool DealtFit::fit(std::shared_ptr<const DealtKernel> kernel, const std::vector<Point>& points,
                   const std::vector<Point>& others) {
  kernel_ = std::move(kernel);
  otherwise_ = 0;
  variants_.assign(kernel_->variants(), {});
  most_attended_ = std::numeric_limits<double>::infinity();
  const double window = kernel_->window();
  const auto is_beyond = [&](const Point& p) { return p.launch.attended > window || p.launch.long_attended > window; };
  if (window > 0 && std::none_of(points.begin(), points.end(), is_beyond)) most_attended_ = window;
  std::vector<std::vector<const Point*>> of_variant(variants_.size());
  for (const Point& point : points) of_variant[kernel_->variant(point.launch)].push_back(&point);
  std::vector<bool> has_few;
  for (const auto& own : of_variant) has_few.push_back(own.size() < kFew);
  for (const Point& point : others)
    if (const std::size_t variant = kernel_->variant(point.launch); has_few[variant])
      of_variant[variant].push_back(&point);
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    if (of_variant[i].size() < kEnough) continue;
    squares += fit_variant(i, of_variant[i]);
    count += of_variant[i].size();
    if (of_variant[i].size() > of_variant[otherwise_].size() || !variants_[otherwise_].is_fitted) otherwise_ = i;
  }
  if (count == 0) return false;
  error_ = std::sqrt(squares / static_cast<double>(count));
  return seconds({1, 1}) > 0;  // no launch is free
}

}  // namespace dooly::oracle
