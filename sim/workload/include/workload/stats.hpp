#pragma once

#include "workload/request_source.hpp"

#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace dooly::workload {

/// Mean and variance of a sequence (Welford).
class RunningMoments {
 public:
  void add(double value);
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  double variance() const { return count_ > 1 ? squares_ / static_cast<double>(count_ - 1) : 0; }
  double cv() const;   ///< standard deviation over mean; 0 where undefined

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

/// Exact distribution of whole numbers; memory grows with the number of different values.
class LengthCounts {
 public:
  void add(std::uint32_t value);
  std::uint64_t count() const { return count_; }
  double mean() const;
  /// Linear interpolation between closest ranks; p from 0 to 100.
  double percentile(double p) const;
  /// How many values lie in [low, high).
  std::uint64_t between(std::uint64_t low, std::uint64_t high) const;

 private:
  std::uint32_t at_rank(std::uint64_t rank) const;
  std::map<std::uint32_t, std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// What a stream of requests is like. Feed it every request in order, then print.
class WorkloadStats {
 public:
  void add(const Request& request);
  /// A table for people; the same text for the same stream.
  void print(std::ostream& out, std::span<const std::string> classes) const;

  std::uint64_t requests() const { return prompts_.count(); }
  const LengthCounts& prompts() const { return prompts_; }
  const LengthCounts& outputs() const { return outputs_; }
  /// Gaps between arrivals in seconds; their cv is 1 for Poisson arrivals, more for bursty ones.
  const RunningMoments& gaps() const { return gaps_; }
  /// Share of the prompt tokens that an earlier request had at the same place, as an endless cache would see it.
  double shared_prompt_share() const;

 private:
  std::uint64_t shared_tokens(const Request& request);

  LengthCounts prompts_, outputs_;
  RunningMoments gaps_;
  double first_s_ = 0, last_s_ = 0;
  std::vector<std::uint64_t> by_class_;
  std::unordered_set<std::uint64_t> seen_;
  std::map<std::uint64_t, std::uint32_t> session_tokens_;   ///< known tokens of each conversation
  std::uint64_t shared_tokens_ = 0, sharing_requests_ = 0, session_requests_ = 0, truncated_ = 0;
};

/// Takes all of `source` (each request answered the moment it is sent) and prints its statistics.
void print_stats(RequestSource& source, std::ostream& out);

}  // namespace dooly::workload
