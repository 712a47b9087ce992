#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/latency_oracle.hpp"

#include <algorithm>

namespace dooly::replica {

/// Moves a device's regime: towards `sustained_when_busy` times the compute share while it computes, back to cool while
/// it idles. First-order lag in the rational form dt / (tau + dt), which every processor computes alike.
inline void advance_clock_regime(oracle::DeviceState& device, const oracle::LatencyOracle::ClockModel& model,
                                 double idle_s, double busy_s, double compute_share) {
  if (model.time_constant <= 0) return;
  const auto move = [&](double target, double seconds) {
    const bool cools = target < device.sustained && model.cooling_time_constant > 0;
    const double tau = cools ? model.cooling_time_constant : model.time_constant;
    device.sustained += (target - device.sustained) * seconds / (tau + seconds);
  };
  if (idle_s > 0) move(0, idle_s);
  move(model.sustained_when_busy * compute_share, busy_s);
}

}  // namespace dooly::replica
