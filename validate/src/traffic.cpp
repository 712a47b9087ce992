#include "validate/traffic.hpp"

#include "in_child.hpp"
#include "measured_source.hpp"

#include "sim/simulation.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace dooly::validate {
namespace {

static_assert(std::is_trivially_copyable_v<SimulatedRequest>, "crosses a pipe");

SimulatedRequest simulated(const results::FinishedRequest& row) {
  return {.sent_s = row.arrival_s,
          .queued_s = row.queued_s,
          .scheduled_s = row.scheduled_s,
          .first_engine_s = row.first_token_engine_s,
          .first_client_s = row.first_token_s,
          .last_engine_s = row.finish_engine_s,
          .last_client_s = row.finish_s,
          .cached = row.cached_tokens,
          .output = row.output_tokens,
          .preemptions = row.preemptions,
          .completed = row.status == results::RequestStatus::kCompleted};
}

void check_end(const sim::RunOutcome& outcome) {
  using End = sim::RunOutcome::End;
  if (outcome.end == End::kBroken) throw std::runtime_error("the simulation broke off: " + outcome.broken);
  if (outcome.end == End::kStalled)
    throw std::runtime_error("the simulation stalled" + (outcome.stuck.empty() ? "" : ": " + outcome.stuck.front()));
}

}  // namespace

double SimulatedRequest::tpot_s() const {
  return output < 2 ? std::numeric_limits<double>::quiet_NaN() : (last_client_s - first_client_s) / (output - 1);
}

std::vector<SimulatedRequest> simulate(const scenario::Scenario& scenario, sim::Deployment deployment,
                                       const Traffic& traffic) {
  std::vector<SimulatedRequest> requests(traffic.requests.size());
  const std::size_t size = requests.size() * sizeof(SimulatedRequest);
  const std::string bytes = in_child([&](const ByteWriter& write) {
    sim::RunSinks sinks;
    sinks.ended = [&](const results::FinishedRequest& row) { requests.at(row.row) = simulated(row); };
    sim::Simulation simulation(scenario, std::move(deployment), std::make_unique<MeasuredSource>(traffic), {},
                               std::move(sinks));
    check_end(simulation.run());
    write(requests.data(), size);
  });
  if (bytes.size() != size) throw std::runtime_error("the simulation's process sent less than its results");
  std::memcpy(requests.data(), bytes.data(), size);
  return requests;
}

}  // namespace dooly::validate
