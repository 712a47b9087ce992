#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/platform.hpp"
#include "oracle/roofline_oracle.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/answer.hpp"
#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/decode_surface.hpp"
#include "oracle_profiled/mixed_surface.hpp"
#include "oracle_profiled/prefill_surface.hpp"
#include "oracle_profiled/skew_curve.hpp"
#include "oracle_profiled/slowdown.hpp"

#include <vector>

namespace dooly::oracle {

/// What one attention operator does, from its key: a roofline, and the measure of its work.
AttentionRoofline attention_roofline(const OperatorKey& key, const Gpu& gpu, const Efficiency& efficiency);

/// Sums over a batch's prefill chunks; full attention needs nothing else of them. One pass over the chunks. A chunk of
/// one token is a decode to the kernels: it counts apart.
struct ChunkSums {
  double count = 0, query = 0, query_squares = 0, query_context = 0, longest = 0;
  std::uint32_t single = 0;                                 ///< chunks of one token
  std::uint64_t single_context = 0, single_context_squares = 0;
  static ChunkSums of(const BatchShape& shape);
};

/// Time of one attention operator by the composition of the batch:
/// - decodes: a surface over (sequences, mean of the tokens they attend to); unequal contexts cost the coefficient of
///   variation times a slope by sequences more, fitted on samples with two contexts, one curve for decodes alone and
///   one for decodes beside chunks (they run in different kernels);
/// - prefill chunks: work features (FLOPs, query tokens, KV tokens, longest) fitted by non-negative least squares,
///   times residuals interpolated over (chunks, query) and (context, query). Unequal chunks count as equal ones with
///   the same sums of query, of FLOPs and of KV;
/// - both: weights of the two parts, fitted, times residuals over (query, context, sequences, mean); without such
///   samples the plain sum.
/// Never negative; decodes are monotone in sequences and context.
class AttentionModel {
 public:
  struct Limits {
    std::uint32_t max_decodes = 1024;
    double max_context = 1 << 20;
    ClockTerms clock = {};  ///< for samples of unknown regime, and for parts that were not measured in both
  };
  /// `samples` empty: the roofline answers everything. Those at the sustained clock say how much longer that takes;
  /// where there are no others they are all there is.
  AttentionModel(const std::vector<Sample>& samples, const AttentionRoofline& work, const Limits& limits);

  struct Result {
    double seconds = 0;  ///< at the cool clock
    double clock_seconds = 0;  ///< more of it at the sustained clock
    double compute_seconds = 0;  ///< of it at the peak of the matrix units
    Origin origin = Origin::kRoofline;
    double error = 0;
    double decode_seconds = 0;  ///< for the decodes alone
  };
  Result at(const BatchShape& shape, const ChunkSums& chunks) const;
  /// Mean factor of prompts at the sustained clock.
  double prefill_slowdown() const { return prefill_slower_.empty() ? 1 + prefill_slowdown_ : prefill_slower_.mean(); }
  /// A batch of decodes alone, seconds() of at(): the simulator's innermost question.
  double decode_seconds(const BatchShape& shape) const {
    const DecodeMean mean = mean_of(shape);
    return decode_.seconds(mean.decodes, mean.attended) * skew_factor(mean);
  }
  /// decode_seconds() of one step after the other, the contexts growing; bit-equal.
  class Walk {
   public:
    Walk(const AttentionModel& model, const BatchShape& first)
        : model_(&model),
          walk_(model.decode_, first.decodes, model.mean_of(first).attended) {}
    double seconds(const BatchShape& shape) {
      const DecodeMean mean = model_->mean_of(shape);
      return walk_.seconds(mean.attended) * model_->skew_factor(mean);
    }

   private:
    const AttentionModel* model_;
    DecodeSurface::Walk walk_;
  };

  const AttentionRoofline& work() const { return work_; }
  bool is_measured() const { return points_ > 0; }
  std::size_t points() const { return points_; }
  /// Mean relative errors of left-out points, weighted by their number.
  double fold_error() const;

 private:
  /// The batch's decodes as so many equal ones, and how unequal they are.
  struct DecodeMean {
    double decodes, attended, cv;
  };
  double skew_factor(const DecodeMean& mean) const { return 1 + mean.cv * skew_.slope(mean.decodes); }
  DecodeMean mean_of(const BatchShape& shape) const {
    const double n = shape.decodes;
    const double mean = static_cast<double>(shape.decode_context + shape.decodes) / n;
    if (!needs_squares_) return {n, mean, 0};
    return mean_of_unequal(shape, n, mean);
  }
  DecodeMean mean_of_unequal(const BatchShape& shape, double n, double mean) const;
  PrefillSurface::Batch prefill_batch(const BatchShape& shape, const ChunkSums& chunks) const;
  void fit_mixed(const std::vector<Sample>& samples);
  std::vector<Sample> take_slowdowns(std::vector<Sample> samples);
  void fit_skew(const std::vector<Sample>& samples, std::uint32_t max_decodes);
  Result of_decodes(const BatchShape& shape) const;

  AttentionRoofline work_;
  DecodeSurface decode_;
  PrefillSurface prefill_;
  MixedSurface mixed_;
  SkewCurve skew_, mixed_skew_;  // of decodes alone, of decodes beside chunks
  bool needs_squares_ = false;
  AttentionSlowdown decode_slower_, prefill_slower_;  // measured
  double decode_slowdown_ = 0, prefill_slowdown_ = 0;  // where it was not
  std::size_t points_ = 0;
};

}  // namespace dooly::oracle
