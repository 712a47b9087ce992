#pragma once

#include "validate/comparison.hpp"
#include "validate/traffic.hpp"
#include "validate/validation.hpp"

#include <span>

namespace dooly::validate {

/// A request's measured times on the clock that is compared, seconds.
struct RequestTimes {
  double begin_s = 0;  ///< what TTFT and E2E count from
  double first_s = 0, last_s = 0;
  std::uint32_t output = 0;
};

/// Adds series requests.ttft, requests.tpot, requests.e2e. Simulated requests that did not complete are counted in a
/// note and left out.
void compare_requests(std::span<const RequestTimes> measured, std::span<const SimulatedRequest> simulated, Clock clock,
                      Comparison& comparison);

}  // namespace dooly::validate
