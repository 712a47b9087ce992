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

/// Parts of a request's way, seconds, where the engine told its own times.
struct RequestParts {
  double queue_s = 0;     ///< sent to scheduled: input, hashing, waiting for the loop and for room
  double prefill_s = 0;   ///< scheduled to the first token in the engine
  double delivery_s = 0;  ///< from there to the client
  double decode_s = 0;    ///< a further token, in the engine
};

/// Adds series parts.queue, parts.prefill, parts.delivery, parts.decode: which part of the way is wrong.
void compare_parts(std::span<const RequestParts> measured, std::span<const SimulatedRequest> simulated,
                   Comparison& comparison);

/// Adds series requests.ttft, requests.tpot, requests.e2e. Simulated requests that did not complete are counted in a
/// note and left out.
void compare_requests(std::span<const RequestTimes> measured, std::span<const SimulatedRequest> simulated, Clock clock,
                      Comparison& comparison);

}  // namespace dooly::validate
