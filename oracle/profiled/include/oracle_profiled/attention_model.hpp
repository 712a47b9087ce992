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
#include "oracle_profiled/shared_reads.hpp"
#include "oracle_profiled/skew_curve.hpp"
#include "oracle_profiled/slowdown.hpp"
#include "oracle_profiled/tile_fit.hpp"

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
  std::uint32_t single_longest = 0;
  static ChunkSums of(const BatchShape& shape);
};

/// Time of one attention operator by the composition of the batch:
/// - decodes: a surface over (sequences, mean of the tokens they attend to); unequal contexts cost the coefficient of
///   variation times a slope by sequences more, fitted on samples with two contexts, one curve for decodes alone and
///   one for decodes beside chunks (they run in different kernels). Where it is known how launches are cut into tiles,
///   there are samples of two lengths, and the longest context is told, they count as two lengths with the same
///   longest, sum and sum of squares instead, whose tiles are fitted on such samples;
/// - prefill chunks: work features (FLOPs, query tokens, KV tokens, longest) fitted by non-negative least squares,
///   times residuals interpolated over (chunks, query) and (context, query). Unequal chunks count as equal ones with
///   the same sums of query, of FLOPs and of KV;
/// - decodes that share KV blocks take less, by SharedReads;
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
  Result at(const BatchShape& shape, const ChunkSums& chunks) const {
    Result result = as_if_alone(shape, chunks);
    if (shape.shared_tokens > 0) share(shape, result);
    return result;
  }
  /// Mean factor of prompts at the sustained clock.
  double mean_prefill_factor() const {
    return prefill_slower_.empty() ? 1 + prefill_slowdown_ : prefill_slower_.mean();
  }
  /// A batch of decodes alone, seconds() of at(): the simulator's innermost question.
  double decode_seconds(const BatchShape& shape) const {
    const double alone = decode_seconds_alone(shape);
    return shape.shared_tokens > 0 ? alone - saved_seconds(shared_.reach(shape), shape, alone) : alone;
  }

 private:
  /// The batch's decodes as so many equal ones, and how unequal they are.
  struct DecodeMean {
    double decodes, attended;
    double cv;         ///< coefficient of variation
    double place;      ///< on the decode surface
    double mean;       ///< tokens with the token itself, hidden by a window or not
    double longest;    ///< the same of the longest; 0: not told
    double deviation;  ///< standard deviation
  };
  /// Two lengths that stand for unequal contexts, in whole tokens: steps that grow by a token each share most of them.
  struct TwoLengths {
    double decodes = 0, mean = 0, deviation = 0, beyond = 0;  ///< `beyond` the mean is the longest
  };

 public:
  /// decode_seconds() of one step after the other, the contexts growing by a token each; bit-equal.
  class Walk {
   public:
    Walk(const AttentionModel& model, const BatchShape& first)
        : Walk(model, model.mean_of(first), model.shared_.reach(first)) {}
    double seconds(const BatchShape& shape) {
      const double alone = seconds_alone(shape);
      return reach_ > 0 ? alone - model_->saved_seconds(reach_, shape, alone) : alone;
    }

   private:
    double seconds_alone(const BatchShape& shape) {
      const DecodeMean mean = model_->mean_of(shape, deviation_);
      if (!counts_lengths_) return walk_.seconds(mean.place) * model_->skew_factor(mean);
      if (const double whole = whole_mean(mean.mean); whole != lengths_.mean) {
        lengths_.mean = whole;
        const FlashTiles::Launch launch = launch_of(lengths_);
        apart_ = launch.long_decodes > 0 ? apart_walk_.seconds(launch) : model_->uneven_.seconds(launch);
      }
      return mean.cv >= kApart ? apart_ : blended(walk_.seconds(mean.place), apart_, mean);
    }
    Walk(const AttentionModel& model, const DecodeMean& mean, double reach)
        : model_(&model),
          reach_(reach),
          walk_(model.decode_, mean.decodes, mean.place),
          apart_walk_(model.uneven_),
          deviation_(mean.deviation),
          counts_lengths_(model.counts_lengths(mean)),
          lengths_(two_lengths(mean)) {
      lengths_.mean = 0;
    }
    const AttentionModel* model_;
    double reach_;  ///< of shared blocks
    DecodeSurface::Walk walk_;
    TileFit::Walk apart_walk_;
    double deviation_;
    bool counts_lengths_;
    TwoLengths lengths_;  // those of the last step
    double apart_ = 0;  ///< of them
  };

  const AttentionRoofline& work() const { return work_; }
  bool is_measured() const { return points_ > 0; }
  std::size_t points() const { return points_; }
  /// Mean relative errors of left-out points, weighted by their number.
  double fold_error() const;

 private:
  Result as_if_alone(const BatchShape& shape, const ChunkSums& chunks) const;  ///< no block is another's too
  void share(const BatchShape& shape, Result& result) const;
  double decode_seconds_alone(const BatchShape& shape) const {
    const DecodeMean mean = mean_of(shape);
    if (counts_lengths(mean) && mean.cv >= kApart) return uneven_.seconds(launch_of(two_lengths(mean)));
    return uneven_seconds(decode_.seconds(mean.decodes, mean.place), mean);
  }
  /// Of `alone`, what decodes take that share nothing.
  double saved_seconds(double reach, const BatchShape& shape, double alone) const {
    return SharedReads::saved(reach, shape) * std::max(0.0, alone - start_s_);
  }
  double skew_factor(const DecodeMean& mean) const { return 1 + mean.cv * skew_.slope(mean.decodes); }
  bool counts_lengths(const DecodeMean& mean) const {
    return uneven_.is_fitted() && mean.longest > mean.mean && mean.cv > 0;
  }
  static double whole(double x) {  // not negative; halves go up
    return static_cast<double>(static_cast<std::int64_t>(x + 0.5));  // NOLINT(bugprone-incorrect-roundings)
  }
  static double whole_mean(double mean) {
    constexpr double kStep = 4;
    return kStep * std::max(1.0, whole(mean / kStep));
  }
  static TwoLengths two_lengths(const DecodeMean& mean) {
    return {mean.decodes, whole_mean(mean.mean), whole(mean.deviation), whole(std::max(0.0, mean.longest - mean.mean))};
  }
  static FlashTiles::Launch launch_of(const TwoLengths& lengths) {
    const double variance = lengths.deviation * lengths.deviation;
    if (!(variance > 0) || !(lengths.beyond > 0)) return {lengths.decodes, lengths.mean};
    const double many = lengths.decodes * variance / (variance + lengths.beyond * lengths.beyond);
    return {.decodes = lengths.decodes - many,
            .attended = std::max(1.0, lengths.mean - variance / lengths.beyond),
            .long_decodes = many,
            .long_attended = lengths.mean + lengths.beyond};
  }
  static constexpr double kApart = 0.25;  ///< coefficient of variation from which contexts are two lengths alone
  /// From the time of equal contexts to that of two lengths.
  static double blended(double even, double apart, const DecodeMean& mean) {
    return mean.cv >= kApart ? apart : even + (apart - even) * (mean.cv / kApart);
  }
  double uneven_seconds(double even, const DecodeMean& mean) const {
    if (!counts_lengths(mean)) return even * skew_factor(mean);
    return blended(even, uneven_.seconds(launch_of(two_lengths(mean))), mean);
  }
  /// Where decodes of so many tokens, of which they attend to so many, lie on the surface: those that a window shortens
  /// beyond it.
  double place_of(double tokens, double attended) const {
    constexpr double kRounding = 0.5;
    const bool is_hidden =
        work_.is_tiled() && work_.window > 0 && tokens > work_.window && attended > work_.window - kRounding;
    if (is_hidden && work_.dealt) return tokens;
    return is_hidden ? work_.window + 1 : attended;
  }
  DecodeMean mean_of(const BatchShape& shape) const {
    return mean_of(shape, needs_squares_ ? context_deviation(shape) : 0);
  }
  /// `deviation` of the contexts: the same for all steps of a run.
  DecodeMean mean_of(const BatchShape& shape, double deviation) const {
    const double n = shape.decodes;
    const double mean = static_cast<double>(shape.decode_context + shape.decodes) / n;
    if (!needs_squares_) return {n, mean, 0, mean, mean, 0, 0};
    const double attended = work_.kind == AttentionKind::kFull ? mean : attended_mean(shape);
    const double longest = shape.decode_longest > 0 ? static_cast<double>(shape.decode_longest) + 1 : 0;
    return {n, attended, deviation / mean, place_of(mean, attended), mean, longest, deviation};
  }
  static double context_deviation(const BatchShape& shape);
  double attended_mean(const BatchShape& shape) const;
  PrefillSurface::Batch prefill_batch(const BatchShape& shape, const ChunkSums& chunks) const;
  MixedSurface::Point mixed_point(const PrefillSurface::Batch& batch, const DecodeMean& mean, double prefill_s,
                                  double decode_s) const;
  void fit_mixed(const std::vector<Sample>& samples);
  void add_of_same_kernel(const std::vector<Sample>& samples, bool with_decodes,
                          MixedSurface::Launches& launches) const;
  static std::vector<TileFit::Point> decode_launches(const std::vector<Sample>& samples, bool skewed);
  std::vector<Sample> take_slowdowns(std::vector<Sample> samples);
  void fit_uneven(const std::vector<Sample>& samples);
  void fit_skew(const std::vector<Sample>& samples, std::uint32_t max_decodes);
  Result of_decodes(const BatchShape& shape) const;
  bool at_by_tiles(const BatchShape& shape, const PrefillSurface::Batch& batch, Result& result) const;
  double decode_slowdown(const DecodeMean& mean) const;
  double prefill_slowdown(const PrefillSurface::Batch& batch) const;

  AttentionRoofline work_;
  SharedReads shared_;
  double start_s_ = 0;  ///< of a decode of one token: what is not reading
  DecodeSurface decode_;
  PrefillSurface prefill_;
  MixedSurface mixed_;
  SkewCurve skew_, mixed_skew_;  // of decodes alone, of decodes beside chunks
  TileFit uneven_;  // of decodes of two lengths
  bool needs_squares_ = false;
  AttentionSlowdown decode_slower_, prefill_slower_;  // measured
  double decode_slowdown_ = 0, prefill_slowdown_ = 0;  // where it was not
  std::size_t points_ = 0;
};

}  // namespace dooly::oracle
