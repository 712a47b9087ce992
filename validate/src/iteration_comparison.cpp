#include "engine_log_checks.hpp"

#include "replica_core/clock_regime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

namespace dooly::validate {
namespace {

/// Launches this long compiled kernels first (the README of the data): such an iteration says nothing of serving.
constexpr double kCompiling = 0.150;
/// Of a KV block, in every run of the data.
constexpr std::uint32_t kBlockTokens = 16;
/// Mixed iterations from this size on are bound by their kernels on the platform of the data.
constexpr std::uint32_t kLargeMixed = 1500;

const char* class_of(const oracle::BatchShape& shape) {
  if (shape.prefills.empty()) return "decode_only";
  if (shape.decodes == 0) return "prefill";
  return shape.tokens() >= kLargeMixed ? "mixed_large" : "mixed_small";
}

const char* launch_of(oracle::GraphMode mode) {
  switch (mode) {
    case oracle::GraphMode::kFull: return "terms.launch_full";
    case oracle::GraphMode::kPiecewise: return "terms.launch_piecewise";
    case oracle::GraphMode::kNone: return "terms.launch_none";
  }
  return "";
}

/// Pairs of one log and one oracle, iteration by iteration.
class IterationComparison {
 public:
  IterationComparison(const EngineLog& log, const oracle::LatencyOracle& oracle, const oracle::CudaGraphs& graphs,
                      Comparison& comparison)
      : log_(log),
        oracle_(oracle),
        graphs_(graphs),
        clock_(oracle.clock_model()),
        comparison_(comparison) {
    for (const char* each : {"decode_only", "mixed_large", "mixed_small", "prefill"}) {
      comparison.of(std::string(each) + ".gpu", Unit::kSeconds, Plot::kScatter);
      comparison.of(std::string(each) + ".alone");
      comparison.of(std::string(each) + ".kernels");
    }
  }

  void run() {
    ShapeReader shapes(log_);
    for (const LoggedIteration& iteration : log_.iterations) {
      const LoggedShape& logged = shapes.next(iteration);
      if (iteration.tokens > 0) add(iteration, logged.shape);
    }
    add_requests();
    tell();
  }

 private:
  void add(const LoggedIteration& iteration, const oracle::BatchShape& shape) {
    oracle::StepCost cost = oracle_.cost(shape, device_);
    if (is_after_prefill_) cost.host.launch_after_prefill();
    is_after_prefill_ = !shape.prefills.empty();
    const double kernels_s = cost.device.total();
    advance(iteration, kernels_s, cost.compute_share);
    if (iteration.launch_s() > kCompiling) {
      ++compiling_;
      return;
    }
    const std::string group = class_of(shape);
    comparison_.of(group + ".gpu").add(iteration.gpu_s, in_place_s(iteration, cost));
    comparison_.of(group + ".alone").add(iteration.gpu_s, alone_s(cost));
    comparison_.of(group + ".kernels").add(iteration.gpu_s, kernels_s);
    if (graphs_.mode(shape) != iteration.mode) ++other_mode_;
    add_host(iteration, cost.host);
    add_delivery(iteration, cost.host.delivery);
    sum_device(cost);
  }

  /// What can be said of a batch without knowing what ran before it.
  static double alone_s(const oracle::StepCost& cost) {
    return std::max(cost.device.total(), cost.host.launch - cost.host.launch_lead);
  }

  /// The replica's rule from where the real launch and the real device stood: launched at the logged time, the step
  /// ends no earlier than its kernels after the first one, nor than its launch.
  static double in_place_s(const LoggedIteration& iteration, const oracle::StepCost& cost) {
    const double start_s = iteration.gpu_end_s - iteration.gpu_s;
    const double kernels_begin_s = std::max(start_s, iteration.launch_begin_s + cost.host.launch_lead);
    const double launched_s = iteration.launch_begin_s + cost.host.launch + cost.host.sample;
    const double end_s = cost.host.later(kernels_begin_s + cost.device.total(), launched_s);
    return end_s - start_s;
  }

  /// As the replica does, with the time that passed on the real device.
  void advance(const LoggedIteration& iteration, double kernels_s, double compute_share) {
    const double elapsed_s = std::max(0.0, iteration.gpu_gap_s) + iteration.gpu_s;
    const double busy_s = std::min(kernels_s, elapsed_s);
    replica::advance_clock_regime(device_, clock_, elapsed_s - busy_s, busy_s, compute_share);
  }

  void add_host(const LoggedIteration& iteration, const oracle::HostTime& host) {
    comparison_.of("terms.schedule").add(iteration.schedule_end_s - iteration.schedule_begin_s, host.schedule);
    comparison_.of(launch_of(iteration.mode)).add(iteration.launch_s(), host.launch);
    if (log_.is_async)  // else it holds the wait for the device
      comparison_.of("terms.sample").add(iteration.sample_end_s - iteration.launch_end_s, host.sample);
    comparison_.of("terms.update").add(iteration.update_end_s - iteration.wait_end_s, host.update);
  }

  /// From the update to the client, seen where a prompt's first token goes out.
  void add_delivery(const LoggedIteration& iteration, double delivery_s) {
    for (const LoggedEntry& entry : iteration.batch) {
      const LoggedRequest& request = log_.requests[entry.request];
      const bool is_first = entry.computed < request.prompt && entry.computed + entry.tokens == request.prompt;
      if (is_first && request.first_s > iteration.update_end_s)
        comparison_.of("terms.delivery").add(request.first_s - iteration.update_end_s, delivery_s);
    }
  }

  void add_requests() {
    for (const LoggedRequest& request : log_.requests)
      comparison_.of("terms.input")
          .add(request.received_s - request.sent_s, oracle_.request_cost(request.prompt).input);
  }

  void sum_device(const oracle::StepCost& cost) {
    device_sum_.token_ops += cost.device.token_ops;
    device_sum_.attention += cost.device.attention;
    device_sum_.collective += cost.device.collective;
    device_sum_.other += cost.device.other;
    device_sum_.gaps += cost.device.gaps;
    roofline_s_ += cost.provenance.roofline;
    extrapolated_s_ += cost.provenance.extrapolated;
    stated_s_ += cost.stated_error * cost.device.total();
  }

  void tell() {
    const double all = device_sum_.total();
    if (compiling_ > 0)
      comparison_.notes.push_back(
          fmt::format("{} iterations left out: launched for more than {:.0f} ms", compiling_, kCompiling * 1e3));
    if (other_mode_ > 0)
      comparison_.notes.push_back(fmt::format("{} iterations ran in another graph mode than predicted", other_mode_));
    if (all > 0)
      comparison_.notes.push_back(fmt::format(
          "predicted kernel time: {:.1f} % by tokens, {:.1f} % attention, {:.1f} % collectives, {:.1f} % clock, "
          "{:.1f} % gaps; "
          "{:.1f} % extrapolated, {:.1f} % roofline, stated error {:.1f} %",
          100 * device_sum_.token_ops / all, 100 * device_sum_.attention / all, 100 * device_sum_.collective / all,
          100 * device_sum_.other / all, 100 * device_sum_.gaps / all, 100 * extrapolated_s_ / all,
          100 * roofline_s_ / all, 100 * stated_s_ / all));
  }

  const EngineLog& log_;
  const oracle::LatencyOracle& oracle_;
  const oracle::CudaGraphs& graphs_;
  oracle::LatencyOracle::ClockModel clock_;
  Comparison& comparison_;
  oracle::DeviceState device_;
  oracle::DeviceTime device_sum_;
  bool is_after_prefill_ = false;
  double roofline_s_ = 0, extrapolated_s_ = 0, stated_s_ = 0;
  std::size_t compiling_ = 0, other_mode_ = 0;
};

}  // namespace

const LoggedShape& ShapeReader::next(const LoggedIteration& iteration) {
  oracle::BatchShape& shape = current_.shape;
  shape = {};
  current_.chunks.clear();
  for (const LoggedEntry& entry : iteration.batch) {
    const std::uint32_t prompt = log_.requests[entry.request].prompt;
    std::uint32_t& known = known_[entry.request];
    known = std::max(known, prompt);
    const std::uint32_t end = entry.computed + entry.tokens;
    if (entry.tokens == 1 && end == known && entry.computed >= prompt) {
      ++shape.decodes;
      shape.decode_context += entry.computed;
      shape.decode_context_squares += std::uint64_t{entry.computed} * entry.computed;
      shape.decode_context_cubes += std::uint64_t{entry.computed} * entry.computed * entry.computed;
      shape.decode_longest = std::max(shape.decode_longest, entry.computed);
    } else {
      current_.chunks.push_back({.query = entry.tokens, .context = entry.computed});
      shape.prefill_tokens += entry.tokens;
    }
    if (end < known) continue;
    ++shape.logits_rows;
    known = end + 1;
  }
  shape.prefills = current_.chunks;
  tell_shared(iteration);
  return current_;
}

/// Whole blocks of a prefix that a group of requests has in common are held once by all that have computed it.
void ShapeReader::tell_shared(const LoggedIteration& iteration) {
  holders_.clear();
  for (const LoggedEntry& entry : iteration.batch) {
    const LoggedRequest& request = log_.requests[entry.request];
    const std::uint32_t tokens = std::min(request.prefix_tokens, request.prompt) / kBlockTokens * kBlockTokens;
    if (tokens == 0 || entry.computed < tokens) continue;
    Holders& group = holders_[request.prefix_group];
    group.tokens = tokens;
    ++group.count;
  }
  for (const auto& [group, holders] : holders_) {
    if (holders.count < 2) continue;
    current_.shape.shared_tokens += holders.tokens;
    current_.shape.repeated_tokens += holders.tokens * (holders.count - 1);
  }
}

void compare_iterations(const EngineLog& log, const oracle::LatencyOracle& oracle, const oracle::CudaGraphs& graphs,
                        Comparison& comparison) {
  IterationComparison(log, oracle, graphs, comparison).run();
}

}  // namespace dooly::validate
