#include "request_comparison.hpp"

#include <fmt/format.h>

#include <limits>

namespace dooly::validate {
namespace {

RequestTimes times_of(const SimulatedRequest& request, Clock clock) {
  const bool at_client = clock == Clock::kClient;
  return {.begin_s = at_client ? request.sent_s : request.queued_s,
          .first_s = at_client ? request.first_client_s : request.first_engine_s,
          .last_s = at_client ? request.last_client_s : request.last_engine_s,
          .output = request.output};
}

double ttft_s(const RequestTimes& times) { return times.first_s - times.begin_s; }
double e2e_s(const RequestTimes& times) { return times.last_s - times.begin_s; }
double tpot_s(const RequestTimes& times) {
  return times.output < 2 ? std::numeric_limits<double>::quiet_NaN()
                          : (times.last_s - times.first_s) / (times.output - 1);
}

RequestParts parts_of(const SimulatedRequest& request) {
  return {.queue_s = request.scheduled_s - request.sent_s,
          .prefill_s = request.first_engine_s - request.scheduled_s,
          .delivery_s = request.first_client_s - request.first_engine_s,
          .decode_s = tpot_s({0, request.first_engine_s, request.last_engine_s, request.output})};
}

struct NamedPart {
  const char* name;
  double RequestParts::*part;
};
constexpr NamedPart kParts[] = {{"parts.queue", &RequestParts::queue_s},
                                {"parts.prefill", &RequestParts::prefill_s},
                                {"parts.delivery", &RequestParts::delivery_s},
                                {"parts.decode", &RequestParts::decode_s}};

}  // namespace

void compare_parts(std::span<const RequestParts> measured, std::span<const SimulatedRequest> simulated,
                   Comparison& comparison) {
  for (const NamedPart& each : kParts) {
    Series& series = comparison.of(each.name);
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (simulated[i].completed) series.add(measured[i].*each.part, parts_of(simulated[i]).*each.part);
  }
}

void compare_requests(std::span<const RequestTimes> measured, std::span<const SimulatedRequest> simulated, Clock clock,
                      Comparison& comparison) {
  std::size_t lost = 0;
  const auto add = [&](const char* name, double (*figure)(const RequestTimes&)) {
    Series& series = comparison.of(name, Unit::kSeconds, Plot::kCdf);
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (simulated[i].completed) series.add(figure(measured[i]), figure(times_of(simulated[i], clock)));
  };
  add("requests.ttft", ttft_s);
  add("requests.tpot", tpot_s);
  add("requests.e2e", e2e_s);
  for (const SimulatedRequest& request : simulated) lost += request.completed ? 0 : 1;
  if (lost > 0)
    comparison.notes.push_back(
        fmt::format("{} of {} requests did not complete in the simulation", lost, measured.size()));
}

}  // namespace dooly::validate
