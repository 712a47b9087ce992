#pragma once

#include "oracle/latency_oracle.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace dooly::validate {

/// Another oracle with one term of its answers multiplied.
class ScaledOracle final : public oracle::LatencyOracle {
 public:
  /// Throws std::logic_error for a term that terms() does not name.
  ScaledOracle(std::unique_ptr<oracle::LatencyOracle> inner, std::string_view term, double factor);

  /// Parts of the device's time, then of the host's, in the order of a step.
  static std::vector<std::string_view> terms();

  std::string_view name() const override { return inner_->name(); }
  oracle::RequestCost request_cost(std::uint32_t prompt_tokens) const override;
  ClockModel clock_model() const override { return inner_->clock_model(); }

 private:
  void do_cost(const oracle::BatchShape& shape, oracle::DeviceState state, oracle::StepCost& answer) const override;

  std::unique_ptr<oracle::LatencyOracle> inner_;
  std::size_t term_;
  double factor_;
};

}  // namespace dooly::validate
