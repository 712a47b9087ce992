#pragma once

#include "oracle/roofline_oracle.hpp"
#include "oracle/sample_set.hpp"
#include "profiling_sweep/operation.hpp"
#include "profiling_sweep/sweep_limits.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace dooly::profiling {

/// A point that is worth measuring.
struct Probe {
  oracle::SamplePoint point{};
  oracle::ClockRegime regime = oracle::ClockRegime::kUnknown;
  bool operator==(const Probe&) const = default;
};

/// What to measure next of one signature.
struct Round {
  std::vector<Probe> probes;  ///< empty: the fit is good enough, or there is nothing left to add
  double fold_error = 0;      ///< mean relative error of points left out, so far
};

struct RefineSettings {
  SweepLimits limits;
  double target = 0.03;        ///< error of left-out points at which to stop
  bool both_regimes = false;   ///< compute-bound operators also at the sustained clock
  std::vector<std::uint32_t> routings = {0, 1, 2};  ///< of experts, as in oracle/sample.hpp
  std::uint32_t most_points = 160;  ///< of one curve, of one part of an attention operator
};

/// Chooses points for one signature. It keeps no state: what comes next follows from the samples that are there, so a
/// sweep that was killed goes on where it was. Points that failed are not asked for again, nor is what is larger in
/// every respect than one that ran out of memory.
class Refiner {
 public:
  virtual ~Refiner() = default;
  virtual Round next(const std::vector<oracle::Sample>& samples) const = 0;
};

/// `near`: a measured signature of the same kind, family and types; its curve, scaled by the roofline, says where
/// points are needed. Null: none. It need not live on.
std::unique_ptr<Refiner> make_refiner(const Operation& operation, const oracle::Gpu& gpu,
                                      const RefineSettings& settings, const Operation* near = nullptr,
                                      const std::vector<oracle::Sample>* near_samples = nullptr);

}  // namespace dooly::profiling
