#pragma once

#include "oracle/cuda_graphs.hpp"
#include "oracle/latency_oracle.hpp"
#include "oracle/platform.hpp"

#include <cstdint>

namespace dooly::oracle {

/// Step time = base + per_token × tokens + per_1000_context × Σ(context after the step) ÷ 1000; an empty batch takes no
/// time. For tests and for replaying decision logs. Its time has no provenance: it is given, not predicted.
class FixedOracle : public LatencyOracle {
 public:
  struct Linear {
    double base = 0;  ///< seconds
    double per_token = 0;  ///< seconds
    double per_1000_context = 0;  ///< seconds
    /// Integer arithmetic in microseconds, the quotient by 1000 rounded down. The three terms must then be whole
    /// microseconds.
    bool whole_microseconds = false;
  };

  /// Throws OracleError for terms that are negative, not finite or, where asked, not whole microseconds.
  explicit FixedOracle(const Linear& terms, const HostTimes& host = {}, CudaGraphs graphs = CudaGraphs({}));

  /// Every step takes `seconds`.
  static FixedOracle constant(double seconds);

  std::string_view name() const override { return "fixed"; }
  bool decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const override;
  RequestCost request_cost(std::uint32_t prompt_tokens) const override { return host_.request(prompt_tokens); }

 private:
  void do_cost(const BatchShape& shape, DeviceState state, StepCost& answer) const override;
  double step_seconds(const BatchShape& shape) const;

  Linear terms_;
  std::uint64_t base_us_ = 0;
  std::uint64_t per_token_us_ = 0;
  std::uint64_t per_1000_context_us_ = 0;
  HostTimes host_;
  CudaGraphs graphs_;
};

/// Σ(context after the step) over the batch, as logs of real engines count it.
std::uint64_t context_after(const BatchShape& shape);

}  // namespace dooly::oracle
