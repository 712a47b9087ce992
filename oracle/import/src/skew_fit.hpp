#pragma once

#include "oracle/sample.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dooly::import_ {

/// Whether decodes of two lengths, beside one prefill chunk at most.
bool is_skewed(const oracle::Sample& sample);

/// Times of a batch whose decodes have two lengths, of one with all at their mean and of one with all at the longer.
struct SkewTimes {
  double skewed = 0, at_mean = 0, at_longest = 0;
  /// What the longest decode adds, as a share of what it would if all were as long; empty where that is no more.
  std::optional<double> alpha() const;
};

/// The mean context of a skewed batch, rounded down as LLMServingSim does.
std::uint64_t mean_context(const oracle::SamplePoint& point);
/// The same batch with all of its decodes at `context`.
oracle::SamplePoint at_one_length(const oracle::SamplePoint& point, std::uint64_t context);

/// LLMServingSim's fit: in each of upstream's buckets, and over all, the weight that minimises the squared error of
/// t_mean + alpha (t_max - t_mean).
class SkewFit {
 public:
  void add(const oracle::SamplePoint& point, const SkewTimes& times);
  bool empty() const { return all_.samples == 0; }
  /// skew_fit.csv; `is_predicted` adds the column that names what nobody measured.
  std::string csv(bool is_predicted) const;
  /// Of meta.yaml, for one number of GPUs.
  std::string meta(std::uint32_t tensor_parallel) const;
  /// Of meta.yaml, before these.
  static std::string head();

 private:
  struct Bucket {
    double weighted = 0, weight = 0;
    std::uint64_t samples = 0;
  };
  std::map<std::string, Bucket> buckets_;
  Bucket all_;
};

/// Batches of upstream's sweep, as far as prompts, decodes and contexts go.
std::vector<oracle::SamplePoint> skew_sweep(std::uint64_t most_query, std::uint64_t most_decodes,
                                            std::uint64_t longest_context);

}  // namespace dooly::import_
