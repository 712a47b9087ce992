#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "exact_sum.hpp"
#include "replica_core/gap_histogram.hpp"
#include "results/distribution.hpp"

namespace dooly::results {

/// Values seen through a histogram of 0.1 % relative error, with exact count, sum, min and max. None may be negative.
class Sketch {
 public:
  void add(double value, std::uint64_t weight = 1) {
    histogram_.add(value, weight);
    sum_.add(value, weight);
    squares_.add(value * value, weight);
  }
  void merge(const Sketch& other);
  Distribution figures() const;

 private:
  double order_statistic(std::uint64_t rank) const;
  replica::GapHistogram histogram_;
  ExactSum sum_, squares_;
};

/// The per-request times of one class: all values (32 bytes a request) up to a limit, sketches beyond.
/// Grows by chunks, so that nothing is moved and hardly anything allocated.
class SampleStore {
 public:
  enum Column : std::size_t { kTtft, kTpot, kE2e, kQueue, kColumns };
  static constexpr std::uint64_t kExactLimit = 2'000'000;

  explicit SampleStore(std::uint64_t exact_limit = kExactLimit) : exact_limit_(exact_limit) {}

  /// NaN: the request has no such time.
  void add(double ttft, double tpot, double e2e, double queue) {
    if (used_ == kChunk || chunks_.empty()) [[unlikely]] {
      if (!start_chunk()) return sketch(ttft, tpot, e2e, queue);
    }
    Chunk& chunk = *chunks_.back();
    chunk.columns[kTtft][used_] = ttft;
    chunk.columns[kTpot][used_] = tpot;
    chunk.columns[kE2e][used_] = e2e;
    chunk.columns[kQueue][used_] = queue;
    ++used_;
  }
  std::uint64_t size() const;
  bool is_exact() const { return sketches_.empty(); }

  /// Figures of the values of several stores taken together, exact if there are at most `exact_limit` of them.
  static Distribution figures(const std::vector<const SampleStore*>& stores, Column column, std::uint64_t exact_limit);

 private:
  static constexpr std::size_t kChunk = 16'384;
  struct Chunk {
    std::array<std::array<double, kChunk>, kColumns> columns;
  };
  bool start_chunk();
  void sketch(double ttft, double tpot, double e2e, double queue);
  void pour_into_sketches();
  template <class Visit>
  void each(Column column, Visit visit) const;

  std::uint64_t exact_limit_;
  std::uint64_t sketched_ = 0;
  std::size_t used_ = 0;  ///< of the last chunk
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Sketch> sketches_;  ///< empty, or one a column
};

}  // namespace dooly::results
