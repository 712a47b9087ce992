#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/platform.hpp"
#include "oracle/roofline_oracle.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/answer.hpp"
#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/decode_lengths.hpp"
#include "oracle_profiled/decode_surface.hpp"
#include "oracle_profiled/mixed_surface.hpp"
#include "oracle_profiled/prefill_surface.hpp"
#include "oracle_profiled/shared_reads.hpp"
#include "oracle_profiled/skew_curve.hpp"
#include "oracle_profiled/slowdown.hpp"
#include "oracle_profiled/tile_fit.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dooly::oracle {

/// What one attention operator does, from its key: a roofline, and the measure of its work.
AttentionRoofline attention_roofline(const OperatorKey& key, const Gpu& gpu, const Efficiency& efficiency);

/// Sums over a batch's prefill chunks; full attention needs nothing else of them. One pass over the chunks. A chunk of
/// one token is a decode to the kernels: it counts apart.
struct ChunkSums {
  double count = 0, query = 0, query_squares = 0, query_context = 0, longest = 0;
  std::uint32_t single = 0;                                 ///< chunks of one token
  std::uint64_t single_context = 0, single_context_squares = 0, single_context_cubes = 0;
  std::uint32_t single_longest = 0;
  static ChunkSums of(const BatchShape& shape);
};

/// Time of one attention operator by the composition of the batch:
/// - decodes: a surface over (sequences, mean of the tokens they attend to); unequal contexts cost the coefficient of
///   variation times a slope by sequences more, fitted on samples with two contexts, one curve for decodes alone and
///   one for decodes beside chunks (they run in different kernels). Where it is known how launches are cut into tiles,
///   there are samples of two lengths, and the longest context is told, they count as two lengths with the same sum,
///   sum of squares and of cubes (where these are not told, the same longest) instead, whose tiles are fitted on such
///   samples;
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
    const double alone = steady(shape).alone(shape);
    return shape.shared_tokens > 0 ? alone - saved_seconds(shared_.reach(shape), shape, alone) : alone;
  }

  /// decode_seconds() of the steps of the same decodes, in any order; bit-equal. What they have in common is counted
  /// once, and what few of them share while they lie next to each other.
  class Walk {
   public:
    /// As if no block were another's too.
    Walk(const AttentionModel& model, const BatchShape& first) : Walk(model, first, MeanTokens(first)) {}
    double seconds(const BatchShape& shape) {
      const double alone = this->alone(shape);
      return reach_ > 0 ? alone - model_->saved_seconds(reach_, shape, alone) : alone;
    }
    /// Adds `count` times seconds() of as many steps, the first of them `shape`.
    void add_to(std::span<double> steps, double count, const BatchShape& first) {
      if (place_is_mean_ && !(reach_ > 0)) {
        std::uint64_t step = steps_to(first);
        for (double& seconds : steps) {
          const double mean = first_mean_.after(step++);
          seconds += count * alone(mean, mean);
        }
        return;
      }
      BatchShape shape = first;
      for (double& seconds : steps) {
        seconds += count * this->seconds(shape);
        shape.decode_context_squares += 2 * shape.decode_context + decodes_;
        shape.decode_context += decodes_;
        if (shape.decode_longest > 0) ++shape.decode_longest;
      }  // of cubes, only the first's are asked for
    }

   private:
    friend class AttentionModel;
    Walk(const AttentionModel& model, const BatchShape& first, const MeanTokens& tokens)
        : Walk(model, first, tokens,
               model.leaning(model.mean_of(first, model.spread_of(first, tokens), tokens.after(0)))) {}
    Walk(const AttentionModel& model, const BatchShape& first, const MeanTokens& tokens, const DecodeMean& mean)
        : model_(&model),
          decodes_(first.decodes),
          longest_(first.decode_longest),
          first_longest_(first.decode_longest),
          first_context_(first.decode_context),
          first_squares_(first.decode_context_squares),
          first_cubes_(first.decode_context_cubes),
          first_mean_(tokens),
          spread_(mean.spread),
          place_is_mean_(model.work_.kind == AttentionKind::kFull),
          counts_lengths_(model.counts_lengths(mean)),
          skew_slope_(counts_lengths_ ? 0 : model.skew_.slope(mean.decodes)),
          even_walk_(model.decode_, mean.decodes, mean.place),
          apart_walk_(model.uneven_) {
      if (!counts_lengths_) return;
      lengths_ = TwoLengths(mean);
      launch_ = lengths_.launch();
      lengths_.mean = 0;
    }
    /// Whether these are the decodes of the first step, or of one after it.
    bool goes_on(const BatchShape& shape) const {
      const std::uint64_t steps = std::uint64_t{shape.decode_longest} - first_longest_, n = shape.decodes;
      const std::uint64_t context = first_context_ + steps * n;
      return n == decodes_ && first_longest_ > 0 && shape.decode_longest >= first_longest_ &&
             shape.decode_context == context &&
             shape.decode_context_squares == first_squares_ + steps * (first_context_ + context) &&
             shape.decode_context_cubes == cubes_after(steps);
    }
    std::uint64_t cubes_after(std::uint64_t steps) const {
      if (first_cubes_ == 0) return 0;  // not told
      return first_cubes_ + 3 * steps * first_squares_ + 3 * steps * steps * first_context_ +
             steps * steps * steps * decodes_;
    }
    std::uint64_t steps_to(const BatchShape& shape) const {
      return first_longest_ > 0 ? shape.decode_longest - first_longest_
                                : (shape.decode_context - first_context_) / decodes_;
    }
    /// As if no block were another's too.
    [[gnu::noinline]] double alone(const BatchShape& shape) {
      const double mean = first_mean_.after(steps_to(shape));
      longest_ = shape.decode_longest;
      return alone(mean, place_is_mean_ ? mean : model_->mean_of(shape, spread_).place);
    }
    [[gnu::always_inline]] double alone(double mean, double place) {
      mean_ = mean;
      even_ = even_walk_.seconds(place);
      const double cv = spread_.deviation / mean;
      if (!counts_lengths_) return even_ * (1 + cv * skew_slope_);
      if (const double step = TwoLengths::step_of(mean); step != lengths_.mean) count_lengths(step);
      return TwoLengths::blended(even_, apart_, cv);
    }
    /// lengths_.launch() at another mean: both lengths move with it.
    [[gnu::noinline]] void count_lengths(double mean) {
      lengths_.mean = mean;
      const bool are_two = launch_.long_decodes > 0;
      launch_.attended = are_two ? std::max(1.0, mean - lengths_.shorter) : mean;
      launch_.long_attended = are_two ? mean + lengths_.longer : 0;
      apart_ = are_two ? apart_walk_.seconds(launch_) : model_->uneven_.seconds(launch_);
    }
    /// mean_of() the step last asked for, without its lean.
    DecodeMean mean(const BatchShape& shape) const {
      if (!place_is_mean_) return model_->mean_of(shape, spread_);
      return {
          static_cast<double>(decodes_), mean_, spread_.deviation / mean_, mean_, mean_, longest_ + 1.0, spread_, 0};
    }

    const AttentionModel* model_;
    std::uint32_t decodes_;
    std::uint32_t longest_;  ///< of the step last asked for
    std::uint32_t first_longest_;
    std::uint64_t first_context_, first_squares_, first_cubes_;
    MeanTokens first_mean_;
    Spread spread_;
    bool place_is_mean_, counts_lengths_;
    double skew_slope_;  ///< where lengths do not count
    double reach_ = 0;   ///< of shared blocks
    double mean_ = 0, even_ = 0, apart_ = 0;  ///< of the last step; times of equal contexts, and of `lengths_`
    DecodeSurface::Walk even_walk_;
    TileFit::Walk apart_walk_;
    TwoLengths lengths_;
    FlashTiles::Launch launch_;  ///< of `lengths_`
  };
  /// From a step on. Valid until decodes of the replica are asked for that do not go on from it.
  Walk& walk_from(const BatchShape& first) const {
    Walk& walk = steady(first);
    walk.reach_ = shared_.reach(first);
    return walk;
  }

  const AttentionRoofline& work() const { return work_; }
  bool is_measured() const { return points_ > 0; }
  std::size_t points() const { return points_; }
  /// Mean relative errors of left-out points, weighted by their number.
  double fold_error() const;

 private:
  /// No block is another's too.
  Result as_if_alone(const BatchShape& shape, const ChunkSums& chunks) const;
  Result of_both(const BatchShape& shape, const ChunkSums& chunks) const;
  void share(const BatchShape& shape, Result& result) const;
  /// That of the decodes last asked for by the replica, if `shape` goes on from them.
  [[gnu::always_inline]] Walk& steady(const BatchShape& shape) const {
    std::optional<Walk>& last = memo_.of(shape.replica);
    return last && last->goes_on(shape) ? *last : begin(shape);
  }
  [[gnu::noinline]] Walk& begin(const BatchShape& shape) const { return memo_.of(shape.replica).emplace(*this, shape); }
  /// Of `alone`, what decodes take that share nothing.
  double saved_seconds(double reach, const BatchShape& shape, double alone) const {
    return SharedReads::saved(reach, shape) * std::max(0.0, alone - start_s_);
  }
  double skew_factor(const DecodeMean& mean) const { return 1 + mean.cv * skew_.slope(mean.decodes); }
  bool counts_lengths(const DecodeMean& mean) const {
    return uneven_.is_fitted() && uneven_.knows(mean.decodes) && mean.longest > mean.mean && mean.cv > 0;
  }
  double uneven_seconds(double even, const DecodeMean& mean) const {
    if (!counts_lengths(mean)) return even * skew_factor(mean);
    return TwoLengths::blended(even, uneven_.seconds(TwoLengths(mean).launch()), mean.cv);
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
  Spread spread_of(const BatchShape& shape, const MeanTokens& tokens) const {
    return needs_squares_ ? Spread(shape, tokens) : Spread();
  }
  DecodeMean mean_of(const BatchShape& shape) const {
    const MeanTokens tokens(shape);
    return mean_of(shape, spread_of(shape, tokens), tokens.after(0));
  }
  DecodeMean mean_of(const BatchShape& shape, const Spread& spread) const {
    return mean_of(shape, spread, MeanTokens(shape).after(0));
  }
  /// `spread` of the contexts, the same for all steps of a run, as their lean is, which leaning() adds; `mean`:
  /// MeanTokens.
  DecodeMean mean_of(const BatchShape& shape, const Spread& spread, double mean) const {
    const double n = shape.decodes;
    if (!needs_squares_) return {n, mean, 0, mean, mean, 0, {}, 0};
    const double attended = work_.kind == AttentionKind::kFull ? mean : attended_mean(shape);
    const double longest = shape.decode_longest > 0 ? static_cast<double>(shape.decode_longest) + 1 : 0;
    return {n, attended, spread.deviation / mean, place_of(mean, attended), mean, longest, spread, 0};
  }
  /// Dealt tiles are not split by the work of all: the longest outlives the others, and so it must be among the two.
  DecodeMean leaning(DecodeMean mean) const {
    if (mean.spread.variance > 0)
      mean.lean = mean.spread.is_lean_told && !work_.dealt ? mean.spread.lean : lean_by_longest(mean);
    return mean;
  }
  double attended_mean(const BatchShape& shape) const;
  PrefillSurface::Batch prefill_batch(const BatchShape& shape, const ChunkSums& chunks) const;
  static FlashTiles::Launch launch_of(const DecodeMean& mean);
  static MixedSurface::Point mixed_point(const PrefillSurface::Batch& batch, const DecodeMean& mean,
                                         const FlashTiles::Launch& decodes, double prefill_s, double decode_s);
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
  class Memo {  // of this model alone: copies begin without
   public:
    Memo() = default;
    Memo(const Memo&) {}
    Memo& operator=(const Memo&) {
      last_.fill({});
      return *this;
    }
    std::optional<Walk>& of(std::uint32_t replica) { return last_[replica % kReplicas]; }

   private:
    static constexpr std::uint32_t kReplicas = 128;  // with more, some begin anew that need not
    std::array<std::optional<Walk>, kReplicas> last_;
  };
  /// A simulator asks for the same decodes of a replica again and again, with and without chunks beside them. Answers
  /// are the same with it and without.
  mutable Memo memo_;
};

}  // namespace dooly::oracle
