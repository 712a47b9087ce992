// How an AttentionModel is fitted: samples sorted into its parts.
#include "oracle_profiled/attention_model.hpp"

#include "oracle_profiled/measurement_error.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr std::size_t kFewMixed = 24;  ///< batches of chunks and decodes below which decodes alone tell about them

enum Coordinate { kPrefills, kQuery, kContext, kDecodes, kMost, kLong, kLongContext };

double number(const Sample& sample, Coordinate which) { return static_cast<double>(sample.point[which]); }
bool is_leaning(const Sample& s) { return s.point[kLong] > 0 && s.point[kLong] < s.point[kDecodes]; }
double only_context(const Sample& s) { return s.point[kLong] > 0 ? number(s, kLongContext) : number(s, kMost); }

/// Equal decodes count as short ones.
FlashTiles::Launch launch_of_point(const Sample& s) {
  const bool is_even = !is_leaning(s);
  return {.decodes = is_even ? number(s, kDecodes) : number(s, kDecodes) - number(s, kLong),
          .attended = (is_even ? only_context(s) : number(s, kMost)) + 1,
          .long_decodes = is_even ? 0 : number(s, kLong),
          .long_attended = is_even ? 0 : number(s, kLongContext) + 1,
          .chunks = number(s, kPrefills),
          .query = number(s, kQuery),
          .context = number(s, kContext)};
}

/// Samples as they would be without the heat of their own repetitions.
std::vector<Sample> on_cool_device(std::vector<Sample> samples, const ClockTerms& clock) {
  for (Sample& s : samples) {
    if (s.regime == ClockRegime::kUnknown)
      s.median_s =
          clock.cool_seconds(s.median_s, s.point[kPrefills] > 0 ? clock.slowdown : clock.slowdown_decode_attention);
  }
  return samples;
}

}  // namespace

/// Leaves the samples of the cool clock, or of the sustained one where there are no others.
std::vector<Sample> AttentionModel::take_slowdowns(std::vector<Sample> samples) {
  std::vector<AttentionSlowdown::Point> decodes, prefills;
  for (const auto& [point, ratio] : sustained_over_cool(samples)) {
    Sample at;
    at.point = point;
    if (point[kPrefills] > 0 && point[kDecodes] == 0) {
      prefills.push_back(
          {number(at, kPrefills) * number(at, kQuery), number(at, kContext) + number(at, kQuery), ratio});
    } else if (point[kPrefills] == 0 && !is_leaning(at)) {
      decodes.push_back({number(at, kDecodes), work_.attended(only_context(at)), ratio});
    }
  }
  decode_slower_ = AttentionSlowdown(decodes);
  prefill_slower_ = AttentionSlowdown(prefills);
  const auto is_hot = [](const Sample& s) { return s.regime == ClockRegime::kSustained; };
  if (std::all_of(samples.begin(), samples.end(), is_hot)) {
    if (!samples.empty()) decode_slowdown_ = prefill_slowdown_ = 0;
  } else {
    std::erase_if(samples, is_hot);
  }
  return samples;
}

AttentionModel::AttentionModel(const std::vector<Sample>& as_timed, const AttentionRoofline& work, const Limits& limits)
    : work_(work),
      decode_slowdown_(limits.clock.slowdown_decode_attention),
      prefill_slowdown_(limits.clock.slowdown) {
  const std::vector<Sample> samples = take_slowdowns(on_cool_device(as_timed, limits.clock));
  // What tells the terms of tiles apart; imported tables lack it.
  const auto is_uneven = [](const Sample& s) { return is_leaning(s) && s.point[kPrefills] == 0; };
  if (std::none_of(samples.begin(), samples.end(), is_uneven)) {
    work_.tiles.reset();
    work_.dealt.reset();
  }
  std::vector<DecodeSurface::Point> decodes;
  std::vector<PrefillSurface::Point> prefills;
  for (const Sample& s : samples) {
    if (s.status != SampleStatus::kOk || !(s.median_s > 0)) continue;
    ++points_;
    if (s.point[kPrefills] == 0 && s.point[kDecodes] > 0 && !is_leaning(s)) {
      decodes.push_back({number(s, kDecodes), place_of(only_context(s) + 1, work_.attended(only_context(s))),
                         s.median_s, measurement_error(s)});
    } else if (s.point[kDecodes] == 0 && s.point[kPrefills] > 0 && s.point[kQuery] > 0) {
      prefills.push_back(
          {number(s, kPrefills), number(s, kQuery), number(s, kContext), s.median_s, measurement_error(s)});
    }
  }
  decode_.fit(decodes, work_, limits.max_decodes, limits.max_context, decode_launches(samples, true));
  prefill_.fit(prefills, work_);
  fit_mixed(samples);
  fit_uneven(samples);
  fit_skew(samples, limits.max_decodes);
  needs_squares_ = work_.kind != AttentionKind::kFull || !skew_.empty() || !mixed_skew_.empty() ||
                   uneven_.is_fitted() || mixed_.follows_tiles();
  shared_ = SharedReads(work_.in_flight);
  start_s_ = decode_.seconds(1, 1);
}

/// Launches of decodes alone, of one length or of two.
std::vector<TileFit::Point> AttentionModel::decode_launches(const std::vector<Sample>& samples, bool skewed) {
  std::vector<TileFit::Point> points;
  for (const Sample& s : samples)
    if (s.status == SampleStatus::kOk && s.median_s > 0 && s.point[kPrefills] == 0 && is_leaning(s) == skewed)
      points.push_back({launch_of_point(s), s.median_s});
  return points;
}

/// Chunks alone, and if asked for decodes, that run in the kernel of both together: they say what its weights are.
void AttentionModel::add_of_same_kernel(const std::vector<Sample>& samples, bool with_decodes,
                                        MixedSurface::Launches& launches) const {
  const std::size_t variant = work_.dealt->variant({.decodes = 1, .attended = 1, .chunks = 1, .query = 2});
  for (const Sample& s : samples) {
    if (s.status != SampleStatus::kOk || !(s.median_s > 0)) continue;
    const bool has_decodes = s.point[kDecodes] > 0;
    if (has_decodes && (s.point[kPrefills] > 0 || !with_decodes)) continue;
    const FlashTiles::Launch launch = launch_of_point(s);
    if (work_.dealt->variant(launch) == variant) launches.push_back({launch, s.median_s});
  }
}

void AttentionModel::fit_mixed(const std::vector<Sample>& samples) {
  std::vector<MixedSurface::Point> points;
  MixedSurface::Launches uneven;
  for (const Sample& s : samples) {
    if (s.status != SampleStatus::kOk || !(s.median_s > 0) || s.point[kPrefills] == 0 || s.point[kDecodes] == 0)
      continue;
    if (is_leaning(s)) {
      uneven.push_back({launch_of_point(s), s.median_s});
      continue;
    }
    const double n = number(s, kDecodes), attended = work_.attended(only_context(s));
    const PrefillSurface::Batch batch = prefill_.batch_of(number(s, kPrefills), number(s, kQuery), number(s, kContext));
    const double tokens = only_context(s) + 1;
    const DecodeMean mean{n, attended, 0, place_of(tokens, attended), tokens, tokens, {}, 0};
    points.push_back(
        mixed_point(batch, mean, launch_of(mean), prefill_.at(batch).seconds, decode_.seconds(n, mean.place)));
    points.back().seconds = s.median_s;
    points.back().error = measurement_error(s);
  }
  if (work_.dealt && work_.dealt->is_mixed_in_one()) add_of_same_kernel(samples, points.size() < kFewMixed, uneven);
  mixed_.fit(points, work_, uneven);
}

void AttentionModel::fit_uneven(const std::vector<Sample>& samples) {
  uneven_.fit_kernel(work_, TileFit::Part::kRagged, decode_launches(samples, true), decode_launches(samples, false));
}

/// How much longer two-context batches take than equal ones of their mean. Served batches are many usual contexts and a
/// few long ones, so samples in which the long ones are a minority count; the reverse costs less at the same variation.
void AttentionModel::fit_skew(const std::vector<Sample>& samples, std::uint32_t max_decodes) {
  constexpr double kMinority = 0.3;
  std::vector<SkewCurve::Point> alone, beside;
  for (const Sample& s : samples) {
    if (s.status != SampleStatus::kOk || !(s.median_s > 0) || !is_leaning(s)) continue;
    const double n = number(s, kDecodes), many = number(s, kLong);
    if (many > kMinority * n) continue;
    const double few = n - many;
    const double mean = (few * number(s, kMost) + many * number(s, kLongContext)) / n;
    const double squares =
        (few * number(s, kMost) * number(s, kMost) + many * number(s, kLongContext) * number(s, kLongContext)) / n;
    const double cv = std::sqrt(std::max(0.0, squares - mean * mean)) / (mean + 1);
    const double attended = work_.attended(mean);
    const double decode = decode_.seconds(n, place_of(mean + 1, attended));
    if (s.point[kPrefills] == 0) {
      alone.push_back({n, cv, s.median_s / decode - 1});
    } else if (mixed_.is_measured()) {
      const PrefillSurface::Batch batch =
          prefill_.batch_of(number(s, kPrefills), number(s, kQuery), number(s, kContext));
      const DecodeMean decodes{n, attended, 0, place_of(mean + 1, attended), mean + 1, 0, {}, 0};
      const double even =
          mixed_.seconds(mixed_point(batch, decodes, launch_of(decodes), prefill_.at(batch).seconds, decode));
      beside.push_back({n, cv, (s.median_s - even) / decode});
    }
  }
  skew_.fit(alone, max_decodes);
  mixed_skew_.fit(beside, max_decodes);
}

}  // namespace dooly::oracle
