#pragma once

#include "oracle/efficiency.hpp"
#include "oracle/gpu.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// Operators that reach other shares of a GPU's peaks; 8 and 4: bits of the weights, where not 16 or more.
enum class KernelKind : std::uint8_t {
  kLinear,
  kLinear8,
  kExperts,
  kExperts8,
  kExperts4,
  kPrefill,  ///< attention of chunks of prompts
  kDecode,   ///< attention of single tokens
  kElementwise
};
inline constexpr std::size_t kKernelKinds = 8;

/// Seconds by ideal seconds: linear between knots, constant below the first, beyond the last its share of the peak.
/// Grows with the ideal time wherever the knots do.
class TimeCurve {
 public:
  struct Knot {
    double ideal = 0, seconds = 0;
  };
  TimeCurve() = default;
  /// Knots by ascending ideal time, seconds not falling; at least one above 0. Throws OracleError.
  explicit TimeCurve(std::vector<Knot> knots);
  double at(double ideal) const { return line_of(ideal)->at(ideal); }
  double least() const { return knots_.front().seconds; }
  const std::vector<Knot>& knots() const { return knots_; }

 private:
  struct Line {
    double end = 0;  ///< where the next one begins; of the last one NaN, which no number reaches
    double from = 0, seconds = 0, slope = 0;
    double at(double ideal) const { return seconds + slope * (ideal - from); }
  };
  const Line* line_of(double ideal) const { return passed(lines_.data(), ideal); }
  static const Line* passed(const Line* line, double ideal) {
    while (ideal >= line->end) ++line;
    return line;
  }

 public:
  /// at() of ideal times that do not fall from call to call; bit-equal.
  class Walk {
   public:
    Walk(const TimeCurve& curve, double ideal) : line_(curve.line_of(ideal)) {}
    double at(double ideal) {
      line_ = passed(line_, ideal);
      return line_->at(ideal);
    }

   private:
    const Line* line_;
  };

 private:
  std::vector<Knot> knots_;
  std::vector<Line> lines_;
};

/// What an operator takes on a GPU, of the least time that its FLOPs and bytes allow by the data sheet.
class KernelTimes {
 public:
  /// The curves fitted to measurements on that GPU (oracle/data/efficiency.json, scripts/fit-efficiency); of kinds that
  /// nobody measured on it those pooled over the others; flat() for a processor.
  static KernelTimes fitted(const Gpu& gpu);
  /// Shares that are the same for all sizes, and a start for each kernel.
  static KernelTimes flat(const Efficiency& efficiency);

  /// Of FLOPs ÷ peak and bytes ÷ bandwidth, seconds: computing and reading overlap, but for experts, of which one waits
  /// for the other.
  double ideal(KernelKind kind, double compute, double memory) const;
  const TimeCurve& curve(KernelKind kind) const { return of(kind).curve; }
  double seconds(KernelKind kind, double compute, double memory) const {
    return curve(kind).at(ideal(kind, compute, memory));
  }

 private:
  struct Rule {
    double compute_share = 1, memory_share = 1;
    bool adds = false;
    TimeCurve curve;
  };
  const Rule& of(KernelKind kind) const { return rules_[static_cast<std::size_t>(kind)]; }
  std::array<Rule, kKernelKinds> rules_;
};

/// One curve of the shipped table.
struct FittedCurve {
  KernelKind kind = KernelKind::kLinear;
  std::string_view gpu;  ///< empty: pooled
  TimeCurve curve;
  std::optional<double> error_before, error,
      error_left_out;  ///< mean relative errors: flat, this curve, the others' pool
};
const std::vector<FittedCurve>& fitted_curves();

std::string_view kernel_kind_name(KernelKind kind);

}  // namespace dooly::oracle
