#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/step_cost.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace dooly::oracle {

/// Answers "how long would this iteration take?" for one model on one replica (one pipeline stage).
/// Stateless and deterministic: equal inputs give equal answers. Not thread-safe: each simulation owns its oracle.
/// An empty batch costs no device time; its host times are those of an empty engine step.
class LatencyOracle {
 public:
  virtual ~LatencyOracle() = default;
  virtual std::string_view name() const = 0;  ///< key in scenarios and reports

  /// Throws OracleError if the implementation answers NaN or a negative time.
  StepCost cost(const BatchShape& shape, DeviceState state) const {
    StepCost answer;
    do_cost(shape, state, answer);
    check(answer);
    return answer;
  }

  /// Cost of receiving a request of `prompt_tokens`.
  virtual RequestCost request_cost(std::uint32_t prompt_tokens) const = 0;

  /// `DeviceState::sustained` moves towards sustained_when_busy × StepCost::compute_share while the device is busy and
  /// towards 0 while it idles, with this time constant, seconds; where it falls with cooling_time_constant, unless that
  /// is 0. {0, 0}: this oracle has one regime.
  struct ClockModel {
    double sustained_when_busy = 0;
    double time_constant = 0;
    double cooling_time_constant = 0;
  };
  virtual ClockModel clock_model() const { return {}; }

  /// What all steps of a decode run have in common.
  struct DecodeRun {
    HostTime host;
    Provenance share;  ///< of the device time; they add up to 1, or all are 0
    double stated_error = 0;
    double compute_share = 1;
    double per_sustained_s = 0;  ///< see below
    std::uint32_t steps = 0xffffffff;  ///< so many of `device_s` were answered, at least 1; default: all
  };
  /// Costs of consecutive decode-only steps of the same requests, each step one token further than the one before:
  /// `device_s[i]` + sustained × `per_sustained_s` is cost() of the i-th step's DeviceTime::total(), bit for bit, and
  /// host times, provenance (share × total), error and compute share are those that `run` says. An oracle answers fewer
  /// steps than asked where the next would have other shares. False: this oracle (or batch) has no such short way; ask
  /// cost().
  virtual bool decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const {
    (void)first;
    (void)device_s;
    (void)run;
    return false;
  }

 private:
  virtual void do_cost(const BatchShape& shape, DeviceState state, StepCost& answer) const = 0;
  /// The bits of all times at once: a sign, or a sum that is no number below 1e9. Minus nothing has a sign, too.
  static void check(const StepCost& answer) {
    const DeviceTime& device = answer.device;
    const HostTime& host = answer.host;
    const double sum = ((device.token_ops + device.attention) + (device.collective + device.other) + device.gaps) +
                       ((host.schedule + host.launch) + (host.launch_lead + host.launch_spread)) +
                       ((host.sample + host.update) + (host.delivery + host.turn) + host.after_prefill);
    const auto bits = [](auto... seconds) { return (std::bit_cast<std::int64_t>(seconds) | ...); };
    const bool has_sign = bits(device.token_ops, device.attention, device.collective, device.other, device.gaps,
                               host.schedule, host.launch, host.launch_lead, host.launch_spread, host.sample,
                               host.update, host.delivery, host.turn, host.after_prefill) < 0;
    if ((has_sign && is_negative(answer)) || !(sum < 1e9)) reject(answer);  // NaN is not less
  }
  static bool is_negative(const StepCost& answer);
  [[noreturn]] static void reject(const StepCost& answer);
};

}  // namespace dooly::oracle
