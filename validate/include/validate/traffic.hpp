#pragma once

#include "scenarios/scenario.hpp"
#include "sim/deployment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::validate {

/// A request as it was measured. Times are seconds from any zero that all requests share.
struct MeasuredRequest {
  double sent_s = 0;
  std::uint32_t prompt = 0;  ///< tokens
  std::uint32_t output = 0;
  std::uint64_t prefix_group = 0;   ///< requests of one group begin with the same tokens
  std::uint32_t prefix_tokens = 0;  ///< so many; 0: nothing is shared
  /// Instead: ids of the prompt's full blocks of `Traffic::block_tokens`; requests share a prefix as far as these
/// agree.
  std::vector<std::uint64_t> blocks = {};
};

/// Requests in the order in which they were sent.
struct Traffic {
  std::vector<MeasuredRequest> requests = {};
  /// 0: sent at their times. Else so many clients, each of which sends the next request when it has its answer; the
  /// first ones at their times.
  std::uint32_t clients = 0;
  std::uint32_t block_tokens = 0;
};

/// What became of a request in the simulation; seconds on the clock of `sent_s`, not a number where it never came.
struct SimulatedRequest {
  double sent_s = 0;
  double queued_s = 0;  ///< taken up by the engine loop
  double scheduled_s = 0;
  double first_engine_s = 0, first_client_s = 0;  ///< first token
  double last_engine_s = 0, last_client_s = 0;    ///< last token
  std::uint32_t cached = 0, output = 0, preemptions = 0;
  bool completed = false;

  double ttft_s() const { return first_client_s - sent_s; }
  double e2e_s() const { return last_client_s - sent_s; }
  /// Not a number for one token.
  double tpot_s() const;
};

/// Runs the requests through the simulation of `dooly run`, in a process of its own (one network engine each), and
/// returns them in their order. Throws std::runtime_error if the run breaks off or stalls.
std::vector<SimulatedRequest> simulate(const scenario::Scenario& scenario, sim::Deployment deployment,
                                       const Traffic& traffic);

}  // namespace dooly::validate
