#include "oracle/fixed_oracle.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <cmath>
#include <string_view>
#include <utility>

namespace dooly::oracle {

namespace {

void check_term(std::string_view name, double seconds) {
  if (seconds >= 0 && seconds < 1e6) return;
  throw OracleError(fmt::format("fixed oracle: {}: must be at least 0 s and finite, got {}", name, seconds));
}

std::uint64_t whole_microseconds(std::string_view name, double seconds) {
  const double microseconds = seconds * 1e6;
  const double rounded = std::round(microseconds);
  if (std::abs(microseconds - rounded) > 1e-6 * (1 + rounded)) {
    throw OracleError(fmt::format("fixed oracle: {}: must be whole microseconds, got {} s", name, seconds));
  }
  return static_cast<std::uint64_t>(rounded);
}

}  // namespace

FixedOracle::FixedOracle(const Linear& terms, const HostTimes& host, CudaGraphs graphs)
    : terms_(terms),
      host_(host),
      graphs_(std::move(graphs)) {
  check_term("base", terms.base);
  check_term("per_token", terms.per_token);
  check_term("per_1000_context", terms.per_1000_context);
  if (!terms.whole_microseconds) return;
  base_us_ = whole_microseconds("base", terms.base);
  per_token_us_ = whole_microseconds("per_token", terms.per_token);
  per_1000_context_us_ = whole_microseconds("per_1000_context", terms.per_1000_context);
}

FixedOracle FixedOracle::constant(double seconds) { return FixedOracle(Linear{.base = seconds}); }

std::uint64_t context_after(const BatchShape& shape) {
  std::uint64_t context = shape.decode_context + shape.decodes;
  for (const PrefillChunk& chunk : shape.prefills) context += std::uint64_t{chunk.context} + chunk.query;
  return context;
}

double FixedOracle::step_seconds(const BatchShape& shape) const {
  if (terms_.whole_microseconds) {
    const std::uint64_t us =
        base_us_ + per_token_us_ * shape.tokens() + per_1000_context_us_ * context_after(shape) / 1000;
    return static_cast<double>(us) / 1e6;
  }
  double seconds = terms_.base + terms_.per_token * shape.tokens();
  if (terms_.per_1000_context > 0) {
    seconds += terms_.per_1000_context * (static_cast<double>(context_after(shape)) / 1000);
  }
  return seconds;
}

bool FixedOracle::decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const {
  run = {};
  host_.step(first, graphs_.mode(first), run.host);
  const double gaps = first.empty() ? 0 : host_.gaps(graphs_.mode(first), !first.prefills.empty());
  BatchShape shape = first;
  for (double& seconds : device_s) {
    seconds = DeviceTime{0, 0, 0, step_seconds(shape), gaps}.total();
    shape.decode_context += shape.decodes;
  }
  return true;
}

void FixedOracle::do_cost(const BatchShape& shape, DeviceState, StepCost& answer) const {
  const GraphMode mode = graphs_.mode(shape);
  host_.step(shape, mode, answer.host);
  if (shape.empty()) return;
  answer.device.other = step_seconds(shape);
  answer.device.gaps = host_.gaps(mode, !shape.prefills.empty());
}

}  // namespace dooly::oracle
