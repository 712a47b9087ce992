#include "sample_store.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dooly::results {
namespace {

constexpr std::array<double, 4> kPercentiles = {0.5, 0.9, 0.95, 0.99};

void set_percentiles(Distribution& figures, const std::array<double, 4>& values) {
  figures.p50 = values[0], figures.p90 = values[1], figures.p95 = values[2], figures.p99 = values[3];
}

/// Rank of a percentile among `count` values as numpy takes it, and the value there, given the order statistics.
template <class OrderStatistic>
double interpolate(double percentile, std::uint64_t count, OrderStatistic order_statistic) {
  const double rank = percentile * static_cast<double>(count - 1);
  const auto below = static_cast<std::uint64_t>(rank);
  const double fraction = rank - static_cast<double>(below);
  const double low = order_statistic(below);
  if (fraction == 0) return low;
  const double high = order_statistic(below + 1);
  const double step = high - low;  // numpy's _lerp: from the nearer end, so that it is monotone
  return fraction >= 0.5 ? high - step * (1 - fraction) : low + step * fraction;
}

/// Finds some order statistics of values that can be visited repeatedly, by counting them in buckets of equal leading
/// bits and sorting only the buckets that hold a wanted rank.
class Selection {
 public:
  Selection(double min, double max) : first_(bucket_of(min)), counts_(bucket_of(max) - first_ + 1, 0) {}
  void count(double value) { ++counts_[bucket_of(value) - first_]; }

  void want(std::uint64_t rank) {
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    while (below + counts_[bucket] <= rank) below += counts_[bucket++];
    if (wanted_.empty()) wanted_.resize(counts_.size(), kUnwanted);
    if (wanted_[bucket] != kUnwanted) return;
    wanted_[bucket] = static_cast<std::uint8_t>(piles_.size());
    piles_.push_back({below, {}});
    piles_.back().values.reserve(counts_[bucket]);
  }
  void gather(double value) {
    const std::uint8_t pile = wanted_[bucket_of(value) - first_];
    if (pile != kUnwanted) piles_[pile].values.push_back(value);
  }
  double at(std::uint64_t rank) {
    for (Pile& pile : piles_) {
      if (rank < pile.below || rank - pile.below >= pile.values.size()) continue;
      const auto nth = pile.values.begin() + static_cast<std::ptrdiff_t>(rank - pile.below);
      std::nth_element(pile.values.begin(), nth, pile.values.end());
      return *nth;
    }
    return 0;  // unreachable for wanted ranks
  }

 private:
  struct Pile {
    std::uint64_t below;  ///< values in smaller buckets
    std::vector<double> values;
  };
  static constexpr std::uint8_t kUnwanted = 255;
  /// Ordered as the values, which are not negative; all below a nanosecond share one, since zeros are frequent.
  static std::size_t bucket_of(double value) { return std::bit_cast<std::uint64_t>(std::max(value, 1e-9)) >> 43; }
  std::size_t first_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint8_t> wanted_;
  std::vector<Pile> piles_;
};

double deviation(double sum_of_squares, std::uint64_t count) {
  return std::sqrt(sum_of_squares / static_cast<double>(count));
}

/// `each(visit)` calls `visit` with every value; it is called several times.
template <class Each>
Distribution exact_figures(Each each) {
  Distribution figures;
  figures.min = HUGE_VAL;
  each([&](double value) {
    ++figures.count;
    figures.min = std::min(figures.min, value);
    figures.max = std::max(figures.max, value);
  });
  if (figures.count == 0) return {};
  Selection selection(figures.min, figures.max);
  ExactSum sum;
  each([&](double value) {
    selection.count(value);
    sum.add(value);
  });
  figures.mean = std::clamp(sum.value() / static_cast<double>(figures.count), figures.min, figures.max);
  for (const double percentile : kPercentiles) {
    const auto rank = static_cast<std::uint64_t>(percentile * static_cast<double>(figures.count - 1));
    selection.want(rank);
    selection.want(std::min(rank + 1, figures.count - 1));
  }
  ExactSum squares;
  each([&](double value) {
    selection.gather(value);
    squares.add((value - figures.mean) * (value - figures.mean));
  });
  figures.std = deviation(squares.value(), figures.count);
  std::array<double, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = interpolate(kPercentiles[i], figures.count, [&](std::uint64_t rank) { return selection.at(rank); });
  }
  set_percentiles(figures, values);
  return figures;
}

}  // namespace

void Sketch::merge(const Sketch& other) {
  histogram_.merge(other.histogram_);
  sum_.merge(other.sum_);
  squares_.merge(other.squares_);
}

double Sketch::order_statistic(std::uint64_t rank) const {
  const std::uint64_t last = histogram_.count() - 1;
  if (rank == 0) return histogram_.min();
  if (rank >= last) return histogram_.max();
  return histogram_.quantile((static_cast<double>(rank) + 0.5) / static_cast<double>(last));
}

Distribution Sketch::figures() const {
  Distribution figures;
  figures.exact = false;
  figures.count = histogram_.count();
  if (figures.count == 0) return figures;
  const double count = static_cast<double>(figures.count);
  figures.min = histogram_.min();
  figures.max = histogram_.max();
  figures.mean = std::clamp(sum_.value() / count, figures.min, figures.max);
  const double variance = squares_.value() / count - figures.mean * figures.mean;
  // below that it is rounding: all values are (nearly) equal
  figures.std = variance > 1e-14 * figures.mean * figures.mean ? std::sqrt(variance) : 0;
  std::array<double, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = interpolate(kPercentiles[i], figures.count, [&](std::uint64_t rank) { return order_statistic(rank); });
  }
  set_percentiles(figures, values);
  return figures;
}

bool SampleStore::start_chunk() {
  if (!is_exact()) return false;
  if (size() >= exact_limit_) {
    pour_into_sketches();
    return false;
  }
  chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
  used_ = 0;
  return true;
}

std::uint64_t SampleStore::size() const {
  return sketched_ + (chunks_.empty() ? 0 : (chunks_.size() - 1) * kChunk + used_);
}

template <class Visit>
void SampleStore::each(Column column, Visit visit) const {
  for (const auto& chunk : chunks_) {
    const std::size_t count = chunk == chunks_.back() ? used_ : kChunk;
    for (const double *value = chunk->columns[column].data(), *end = value + count; value != end; ++value) {
      if (!std::isnan(*value)) visit(*value);
    }
  }
}

void SampleStore::sketch(double ttft, double tpot, double e2e, double queue) {
  ++sketched_;
  const std::array<double, kColumns> values = {ttft, tpot, e2e, queue};
  for (std::size_t column = 0; column < kColumns; ++column) {
    if (!std::isnan(values[column])) sketches_[column].add(values[column]);
  }
}

void SampleStore::pour_into_sketches() {
  sketched_ = size();
  sketches_.resize(kColumns);
  for (std::size_t column = 0; column < kColumns; ++column) {
    each(static_cast<Column>(column), [&](double value) { sketches_[column].add(value); });
  }
  chunks_.clear();
  chunks_.shrink_to_fit();
  used_ = 0;
}

Distribution SampleStore::figures(const std::vector<const SampleStore*>& stores, Column column,
                                  std::uint64_t exact_limit) {
  std::uint64_t total = 0;
  bool exact = true;
  for (const SampleStore* store : stores) total += store->size(), exact = exact && store->is_exact();
  if (exact && total <= exact_limit) {
    return exact_figures([&](auto visit) {
      for (const SampleStore* store : stores) store->each(column, visit);
    });
  }
  Sketch all;
  for (const SampleStore* store : stores) {
    if (store->is_exact())
      store->each(column, [&](double value) { all.add(value); });
    else
      all.merge(store->sketches_[column]);
  }
  return all.figures();
}

}  // namespace dooly::results
