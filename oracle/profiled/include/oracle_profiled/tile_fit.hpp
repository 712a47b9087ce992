#pragma once

#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/dealt_fit.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace dooly::oracle {

/// Time of a launch as the sum of FlashTiles' terms, with weights by non-negative least squares on relative errors; for
/// other kernels a DealtFit.
class TileFit {
 public:
  using Point = DealtFit::Point;
  /// Which part of attention the points are: the terms that are fitted follow from it.
  enum class Part : std::uint8_t { kDecodes, kRagged, kPrefills, kMixed };

  /// Without tiles, or with fewer points than terms, there is no fit.
  void fit(const std::optional<FlashTiles>& tiles, Part part, const std::vector<Point>& points);
  /// By the rules of whatever kernel the operator is known to run.
  /// `others`: launches of other parts, as of DealtFit.
  void fit_kernel(const AttentionRoofline& work, Part part, const std::vector<Point>& points,
                  const std::vector<Point>& others = {});
  void forget() { is_fitted_ = false; }
  bool is_fitted() const { return is_fitted_; }
  /// Whether the kernel that so many decodes may run in was among the points: with a window, more than are captured run
  /// in another one while they are within it.
  bool knows(double decodes) const { return is_dealt_ || is_plain_seen_ || decodes <= FlashTiles::kGraphTokens; }
  /// Root of the mean squared relative error over the points of the fit.
  double error() const { return error_; }
  double seconds(const FlashTiles::Launch& launch) const {
    if (is_dealt_) return dealt_.seconds(launch);
    return most_attended_ < kNever ? seconds_seen(held(launch)) : seconds_seen(launch);
  }

  /// seconds() of decodes of two lengths that grow together, the same numbers of both in each call; bit-equal. Terms
  /// are counted anew where a block begins or a window ends, and for launches before those last counted.
  class Walk {
   public:
    explicit Walk(const TileFit& fit) : fit_(&fit) {}
    double seconds(const FlashTiles::Launch& launch) {
      if (fit_->is_dealt_) return fit_->dealt_.seconds(launch);
      const FlashTiles::Launch seen = fit_->held(launch);
      if (seen.attended > until_ || seen.long_attended > long_until_ || seen.attended < from_ ||
          seen.long_attended < long_from_)
        count_terms(seen);
      return is_windowed_ ? but_read_ : but_read_ + fit_->read(seen);
    }

   private:
    [[gnu::noinline]] void count_terms(const FlashTiles::Launch& seen) {
      const FlashTiles::Steps steps = fit_->tiles_.steps_of(seen);
      const double window = steps.is_windowed || !(fit_->tiles_.window() > 0) ? kNever : fit_->tiles_.window();
      until_ = std::min(window, steps.few * FlashTiles::kBlockTokens);
      long_until_ = std::min(window, steps.many * FlashTiles::kBlockTokens);
      from_ = seen.attended;
      long_from_ = seen.long_attended;
      is_windowed_ = steps.is_windowed;
      but_read_ = fit_->tiles_.sum_but_read(seen, fit_->weights_);
    }
    const TileFit* fit_;
    double until_ = -1, long_until_ = -1;  ///< attended tokens up to which the terms are the same
    double from_ = 0, long_from_ = 0;  ///< those that they were counted for
    bool is_windowed_ = false;
    double but_read_ = 0;
  };

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  double seconds_seen(const FlashTiles::Launch& launch) const {
    const double but_read = tiles_.sum_but_read(launch, weights_);
    return launch.chunks > 0 || !tiles_.is_windowed(launch) ? but_read + read(launch) : but_read;
  }
  FlashTiles::Launch held(FlashTiles::Launch launch) const {
    launch.attended = std::min(launch.attended, most_attended_);
    launch.long_attended = std::min(launch.long_attended, most_attended_);
    return launch;
  }
  double read(const FlashTiles::Launch& launch) const {
    return weights_[FlashTiles::kDecodeRead] * tiles_.decode_read(launch);
  }

  DealtFit dealt_;
  bool is_dealt_ = false;
  FlashTiles tiles_;
  FlashTiles::Terms weights_{};
  /// Decodes beyond a window take what those that fill it take, where no point of the fit went beyond: what the kernel
  /// of windows costs would be unknown.
  double most_attended_ = kNever;
  bool is_plain_seen_ = true;  ///< with a window: the kernel without, too
  bool is_fitted_ = false;
  double error_ = 0;
};

}  // namespace dooly::oracle
