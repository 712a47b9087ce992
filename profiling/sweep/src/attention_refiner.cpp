#include "attention_refiner.hpp"

#include "oracle_profiled/attention_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

namespace dooly::profiling {
namespace {

using oracle::Sample;
using oracle::SamplePoint;

constexpr std::size_t kPerRound = 8;      // of one part
constexpr std::size_t kFolds = 10;
constexpr double kApart = 0.7;            // octaves between points of one round
constexpr double kTail = 3;               // of ten left-out points nine stay below so many targets

bool needs_whole_model(AttentionPart part) { return part == AttentionPart::kMixed || part == AttentionPart::kRagged; }

double distance(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

AttentionRefiner::AttentionRefiner(const Operation& operation, const oracle::Gpu& gpu, const RefineSettings& settings)
    : operation_(operation),
      settings_(settings),
      work_(attention_roofline(operation.key, gpu, {})) {}

oracle::AttentionModel AttentionRefiner::model_of(const std::vector<Sample>& samples) const {
  return oracle::AttentionModel(samples, work_, {settings_.limits.max_sequences, double(settings_.limits.max_context)});
}

/// What the production model, fitted without a tenth of the points, says of those.
std::vector<AttentionRefiner::Error> AttentionRefiner::left_out_errors(AttentionPart part,
                                                                       const std::vector<Sample>& usable) const {
  std::vector<Sample> fitted;
  for (const Sample& sample : usable) {
    const AttentionPart other = part_of(sample.point);
    // Without decodes of two lengths the model would not count tiles.
    const bool tells_tiles = work_.dealt && other == AttentionPart::kRagged;
    if (needs_whole_model(part) || other == part || tells_tiles) fitted.push_back(sample);
  }
  std::vector<Error> errors;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < fitted.size(); ++i)
    if (part_of(fitted[i].point) == part) asked.push_back(i);
  const std::size_t folds = std::min(kFolds, asked.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::set<std::size_t> out;
    for (std::size_t k = fold; k < asked.size(); k += folds) out.insert(asked[k]);
    std::vector<Sample> rest;
    for (std::size_t i = 0; i < fitted.size(); ++i)
      if (!out.contains(i)) rest.push_back(fitted[i]);
    const oracle::AttentionModel model = model_of(rest);
    for (const std::size_t i : out) {
      const auto result = attention_at(model, fitted[i].point);
      errors.push_back({fitted[i].point, std::abs(result.seconds / fitted[i].median_s - 1),
                        result.origin <= oracle::Origin::kInterpolated});
    }
  }
  return errors;
}

bool AttentionRefiner::is_good(AttentionPart part, const std::vector<Error>& errors) const {
  std::vector<double> between;
  for (const Error& error : errors)
    if (error.is_between) between.push_back(error.value);
  // Four coordinates: a few points may agree by chance.
  if (between.size() < (part == AttentionPart::kMixed ? 32u : 4u)) return false;
  std::sort(between.begin(), between.end());
  double sum = 0;
  for (const double value : between) sum += value;
  return sum / double(between.size()) <= settings_.target &&
         between[between.size() * 9 / 10] <= kTail * settings_.target;
}

std::vector<SamplePoint> AttentionRefiner::best_of_pool(AttentionPart part, const std::vector<Error>& errors,
                                                        const std::vector<SamplePoint>& pool) const {
  struct Candidate {
    SamplePoint point;
    std::array<double, 4> place;
    double score;
  };
  std::vector<std::array<double, 4>> places;
  for (const Error& error : errors) places.push_back(octaves(error.point, work_));
  std::vector<Candidate> candidates;
  for (const SamplePoint& point : pool) {
    if (part_of(point) != part) continue;
    const std::array<double, 4> place = octaves(point, work_);
    double nearest = std::numeric_limits<double>::max(), sum = 0, weights = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double apart = distance(place, places[i]);
      nearest = std::min(nearest, apart);
      // Outside of the other points an error says less about what lies between them.
      const double weight = (errors[i].is_between ? 1 : 0.25) / (apart * apart + 0.05);
      sum += weight * errors[i].value;
      weights += weight;
    }
    if (nearest < 0.2 || weights <= 0) continue;
    candidates.push_back({point, place, sum / weights * std::min(nearest, 2.0)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::vector<SamplePoint> best;
  std::vector<std::array<double, 4>> taken;
  for (const Candidate& candidate : candidates) {
    if (best.size() == kPerRound) break;
    const bool is_close = std::any_of(taken.begin(), taken.end(),
                                      [&](const auto& place) { return distance(place, candidate.place) < kApart; });
    if (is_close) continue;
    best.push_back(candidate.point);
    taken.push_back(candidate.place);
  }
  return best;
}

/// The nodes of the next line that holds any that are not `known`.
std::vector<SamplePoint> AttentionRefiner::more_of_grid(PrefillGrid& grid, const std::vector<Error>& errors,
                                                        const std::function<bool(const SamplePoint&)>& known) const {
  const auto error_at = [&](const SamplePoint& point) {
    const auto found = std::find_if(errors.begin(), errors.end(), [&](const Error& e) { return e.point == point; });
    return found != errors.end() && found->is_between ? found->value : -1.0;
  };
  std::vector<SamplePoint> more;
  while (more.empty() && grid.add_line(error_at)) {
    more = grid.nodes();
    std::erase_if(more, known);
  }
  return more;
}

AttentionRefiner::Verdict AttentionRefiner::judge(AttentionPart part, const std::vector<Sample>& usable,
                                                  const Failures& failures) const {
  const auto is_measured = [&](const SamplePoint& point) {
    return std::any_of(usable.begin(), usable.end(), [&](const Sample& sample) { return sample.point == point; });
  };
  AttentionPoints points = attention_points(part, work_, settings_.limits);
  PrefillGrid grid(work_, settings_.limits);
  if (part == AttentionPart::kPrefill) {
    for (const Sample& sample : usable)
      if (part_of(sample.point) == part) grid.add(sample.point);
    points.start = grid.nodes();
  }
  Verdict verdict;
  for (const SamplePoint& point : points.start)
    if (!is_measured(point) && !failures.blocks(point)) verdict.wanted.push_back(point);
  const std::vector<Error> errors = left_out_errors(part, usable);
  for (const Error& error : errors) {
    if (!error.is_between) continue;
    verdict.error_sum += error.value;
    ++verdict.errors;
  }
  const bool is_complete = part != AttentionPart::kPrefill || verdict.wanted.empty();
  if (part == AttentionPart::kRagged || errors.size() >= settings_.most_points || !is_complete || is_good(part, errors))
    return verdict;
  std::vector<SamplePoint> more;
  if (part == AttentionPart::kPrefill) {
    more = more_of_grid(grid, errors, [&](const SamplePoint& p) { return is_measured(p) || failures.blocks(p); });
  } else {
    std::erase_if(points.pool, [&](const SamplePoint& p) { return is_measured(p) || failures.blocks(p); });
    more = best_of_pool(part, errors, points.pool);
  }
  verdict.wanted.insert(verdict.wanted.end(), more.begin(), more.end());
  return verdict;
}

/// Measured points to measure again at the sustained clock: of decodes some of each kind (short contexts are bound by
/// the start of their kernels, long ones by reading, many by their arithmetic), of single chunks short and long ones,
/// with nothing before them and behind long contexts, where more of the time is spent on what draws less power.
std::vector<SamplePoint> AttentionRefiner::sustained_points(const std::vector<Sample>& samples) const {
  struct Place {
    double u, v;  // sequences and context; query tokens and context
  };
  constexpr std::array<Place, 10> kDecodes{{{1, 1024},
                                            {1, 8192},
                                            {8, 512},
                                            {8, 2048},
                                            {32, 1024},
                                            {32, 4096},
                                            {64, 512},
                                            {128, 1024},
                                            {256, 512},
                                            {1024, 1024}}};
  constexpr std::array<Place, 9> kChunks{
      {{512, 0}, {1024, 0}, {2048, 0}, {4096, 0}, {8192, 0}, {512, 8192}, {2048, 8192}, {8192, 8192}, {8192, 24576}}};
  std::vector<std::pair<Place, SamplePoint>> chunks, decodes;
  std::set<SamplePoint> hot, chosen;
  for (const Sample& sample : samples) {
    if (sample.regime == oracle::ClockRegime::kSustained) {
      hot.insert(sample.point);
      continue;
    }
    if (!is_usable(sample)) continue;
    const AttentionPart part = part_of(sample.point);
    if (part == AttentionPart::kPrefill && sample.point[0] == 1)
      chunks.push_back({{double(sample.point[1]), double(sample.point[2])}, sample.point});
    if (part == AttentionPart::kDecode)
      decodes.push_back({{double(sample.point[3]), double(sample.point[4])}, sample.point});
  }
  const auto choose = [&](const auto& places, const auto& measured) {
    for (const Place& wanted : places) {
      const auto apart = [&](const auto& at) {
        return std::abs(std::log2(at.first.u / wanted.u)) + std::abs(std::log2((at.first.v + 1) / (wanted.v + 1)));
      };
      const auto nearest = std::min_element(measured.begin(), measured.end(),
                                            [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
      if (nearest != measured.end() && apart(*nearest) < 1.5) chosen.insert(nearest->second);
    }
  };
  choose(kDecodes, decodes);
  choose(kChunks, chunks);
  std::vector<SamplePoint> missing;
  std::set_difference(chosen.begin(), chosen.end(), hot.begin(), hot.end(), std::back_inserter(missing));
  return missing;
}

/// Of all parts, some of each before many of one.
std::vector<SamplePoint> AttentionRefiner::missing_starts(const std::vector<Sample>& usable,
                                                          const Failures& failures) const {
  std::set<SamplePoint> measured;
  for (const Sample& sample : usable) measured.insert(sample.point);
  std::vector<std::pair<double, SamplePoint>> placed;
  const auto add = [&](const std::vector<SamplePoint>& points) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (!measured.contains(points[i]) && !failures.blocks(points[i]))
        placed.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(points.size()), points[i]});
  };
  const SweepLimits& limits = settings_.limits;
  add(attention_points(AttentionPart::kRagged, work_, limits).start);
  add(attention_points(AttentionPart::kDecode, work_, limits).start);
  add(PrefillGrid(work_, limits).nodes());
  if (launches_together(operation_.key)) add(attention_points(AttentionPart::kMixed, work_, limits).start);
  std::sort(placed.begin(), placed.end());
  std::vector<SamplePoint> missing;
  for (const auto& [place, point] : placed) missing.push_back(point);
  return missing;
}

Round AttentionRefiner::next(const std::vector<Sample>& samples) const {
  const Failures failures(samples);
  Round round;
  if (failures.count() >= kHopeless && failures.count() == samples.size()) return round;
  std::vector<Sample> usable;
  for (const Sample& sample : samples)
    if (is_usable(sample) && sample.regime != oracle::ClockRegime::kSustained) usable.push_back(sample);
  const oracle::ClockRegime base = settings_.both_regimes ? oracle::ClockRegime::kCool : oracle::ClockRegime::kUnknown;
  double sum = 0;
  std::size_t count = 0;
  const auto ask_for = [&](AttentionPart part) {
    const Verdict verdict = judge(part, usable, failures);
    for (const SamplePoint& point : verdict.wanted) round.probes.push_back({point, base});
    sum += verdict.error_sum;
    count += verdict.errors;
  };
  if (work_.dealt) {  // all parts rest on the tiles: a sweep that is cut short shall know some of each
    for (const SamplePoint& point : missing_starts(usable, failures)) round.probes.push_back({point, base});
    if (!round.probes.empty()) return round;
  }
  ask_for(AttentionPart::kDecode);
  ask_for(AttentionPart::kPrefill);
  if (round.probes.empty()) {  // these two parts rest on the others
    ask_for(AttentionPart::kRagged);
    if (launches_together(operation_.key)) ask_for(AttentionPart::kMixed);
  }
  if (count > 0) round.fold_error = sum / static_cast<double>(count);
  if (round.probes.empty() && settings_.both_regimes)
    for (const SamplePoint& point : sustained_points(samples))
      if (!failures.blocks(point)) round.probes.push_back({point, oracle::ClockRegime::kSustained});
  return round;
}

}  // namespace dooly::profiling
