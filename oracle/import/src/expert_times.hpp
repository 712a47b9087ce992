#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <cstdint>
#include <vector>

namespace dooly::import_ {

/// Times of experts by tokens and by how many of the experts these use, from samples of balanced routing, whose tokens
/// use as many as they choose: min(experts, tokens x top_k).
/// - With as many in use: the samples, between them along reading the experts in use plus computing the tokens.
/// - With no more than one token chooses: that token's time, and computing the other tokens by the roofline.
/// - Between these two: linear in the experts, whose weights are read; never less than fewer tokens take that use as
///   many.
class ExpertTimes {
 public:
  /// Takes samples of balanced routing whose number of experts is not told; leaves the others. `key`: of experts that
  /// are all on one GPU.
  ExpertTimes(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples, const oracle::Gpu& gpu);

  std::size_t points() const { return curve_.points().size(); }
  std::uint64_t experts() const { return experts_; }
  std::uint64_t top_k() const { return top_k_; }
  /// Most tokens that were measured; 0: none were.
  std::uint64_t most_tokens() const { return most_tokens_; }
  /// Seconds of `tokens` that use `experts`, from top_k() to what they choose.
  double seconds(std::uint64_t tokens, std::uint64_t experts) const;

 private:
  double computing(double tokens) const { return compute_per_token_ * tokens; }
  /// Of balanced tokens: what their times are interpolated in.
  double work(double tokens) const;
  double balanced_seconds(double tokens) const { return curve_.at(work(tokens)).seconds; }

  std::uint64_t experts_, top_k_, most_tokens_ = 0;
  double compute_per_token_ = 0, memory_per_expert_ = 0;  ///< seconds
  oracle::WorkCurve curve_;  ///< by work()
};

}  // namespace dooly::import_
