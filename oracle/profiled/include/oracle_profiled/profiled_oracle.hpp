#pragma once

#include "oracle/platform.hpp"
#include "oracle_profiled/compiled_plan.hpp"

namespace dooly::oracle {

/// Latency from measured operators: a compiled plan with the host times and the clock of a platform. Where the sources
/// of the plan have no answer, the roofline's stands, labelled so.
/// Device time at the sustained clock is the cool one plus what computing takes longer; that part is DeviceTime::other.
class ProfiledOracle : public LatencyOracle {
 public:
  /// The sources are read here and need not live on. `settings.clock` is taken from the platform. Throws
  /// OracleError, also for operators that nobody answers if `settings.use_roofline` is false.
  ProfiledOracle(const StepPlan& plan, std::span<const SampleSource* const> sources, const Gpu& gpu,
                 CompileSettings settings, const Platform& platform);

  std::string_view name() const override { return "profiled"; }
  RequestCost request_cost(std::uint32_t prompt_tokens) const override { return host_.request(prompt_tokens); }
  ClockModel clock_model() const override { return clock_; }
  bool decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const override;

  const CompiledPlan& plan() const { return plan_; }

 private:
  void do_cost(const BatchShape& shape, DeviceState state, StepCost& answer) const override;

  CompiledPlan plan_;
  HostTimes host_;
  ClockModel clock_;
};

}  // namespace dooly::oracle
