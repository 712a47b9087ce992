#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dooly::oracle {

/// Device time of one iteration by kind of work, seconds.
struct DeviceTime {
  double token_ops = 0;   ///< linears, norms, activations, embeddings, sampling: depend on token counts alone
  double attention = 0;
  double collective = 0;
  double other = 0;
  double gaps = 0;        ///< between kernels: the platform's, not an operator's
  double total() const { return token_ops + attention + collective + gaps + other; }
};

/// Host time of one iteration, seconds, in the order in which the engine spends it.
struct HostTime {
  double turn = 0;         ///< of the loop itself: reading inputs, sending outputs
  double schedule = 0;     ///< the scheduling call
  double launch = 0;       ///< launching the forward pass (blocks the engine loop)
  double after_prefill = 0;  ///< what `launch` and its lead are longer if the step before had a part of a prompt
  double launch_lead = 0;  ///< from the start of the launch to the first kernel; at most `launch`
  double launch_spread = 0;  ///< standard deviation of `launch` from step to step
  double sample = 0;       ///< launching the sampler
  double update = 0;       ///< processing the result
  double delivery = 0;     ///< from the end of `update` until the client holds the tokens; does not block the loop

  double until_launch() const { return turn + schedule; }
  /// Of a step behind one with a part of a prompt.
  void launch_after_prefill() {
    launch += after_prefill;
    launch_lead += after_prefill;
  }
  /// When a step is done whose kernels alone would end at `kernels_s` and whose last kernel is launched at `launched_s`
  /// on average: the later of the two. Where both are near, launches that take longer than usual count and shorter ones
  /// gain nothing: the expected maximum of a number and a normal variable, within 0.02 of its deviation. At least both.
  double later(double kernels_s, double launched_s) const {
    if (!(launch_spread > 0)) return std::max(kernels_s, launched_s);
    const double half = 0.5 * (kernels_s - launched_s), reach = 0.4 * launch_spread;
    return std::max({kernels_s, launched_s, launched_s + half + std::sqrt(half * half + reach * reach)});
  }
};

/// Share of `DeviceTime::total()` by where the answer came from, seconds.
struct Provenance {
  double measured = 0;
  double interpolated = 0;
  double extrapolated = 0;
  double roofline = 0;
};

/// The oracle's answer for one iteration.
struct StepCost {
  DeviceTime device;
  HostTime host;
  Provenance provenance;
  double stated_error = 0;  ///< relative error the oracle claims for device.total(); 0 if it claims none
  /// How far the step drives the device into its sustained clock, 0 to 1: the share of the device time that the matrix
  /// units would need at their peak, or what a platform makes of it (ClockTerms). 1 if the oracle does not tell.
  double compute_share = 1;
};

/// Host time that a request costs before the engine loop can read it, seconds.
struct RequestCost {
  double input = 0;  ///< client to the engine's input thread (requests overlap)
  double hashing = 0;  ///< block hashing in the input thread (requests queue for it)
};

}  // namespace dooly::oracle
