#include "results/pool_figures.hpp"

#include <algorithm>

namespace dooly::results {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
double share(std::uint64_t part, std::uint64_t whole) {
  return share(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace

void accumulate(replica::ReplicaStats& into, const replica::ReplicaStats& stats) {
  into.iterations += stats.iterations;
  into.decode_iterations += stats.decode_iterations;
  into.prefill_iterations += stats.prefill_iterations;
  into.mixed_iterations += stats.mixed_iterations;
  into.scheduled_tokens += stats.scheduled_tokens;
  into.scheduled_requests += stats.scheduled_requests;
  into.decode_s += stats.decode_s;
  into.prefill_s += stats.prefill_s;
  into.mixed_s += stats.mixed_s;
  into.preemptions += stats.preemptions;
  into.prompt_tokens += stats.prompt_tokens;
  into.cached_tokens += stats.cached_tokens;
  into.output_tokens += stats.output_tokens;
  into.peak_blocks = std::max(into.peak_blocks, stats.peak_blocks);
  into.block_seconds += stats.block_seconds;
  into.measured_s += stats.measured_s;
  into.interpolated_s += stats.interpolated_s;
  into.extrapolated_s += stats.extrapolated_s;
  into.roofline_s += stats.roofline_s;
  into.stated_error_s += stats.stated_error_s;
}

PoolFigures pool_figures(std::span<const replica::ReplicaStats> replicas, std::uint64_t kv_blocks, double simulated_s) {
  replica::ReplicaStats sum;
  for (const replica::ReplicaStats& stats : replicas) accumulate(sum, stats);
  const double time_s = simulated_s * static_cast<double>(replicas.size());
  PoolFigures figures;
  figures.iterations = sum.iterations;
  figures.mean_tokens = share(sum.scheduled_tokens, sum.iterations);
  figures.mean_requests = share(sum.scheduled_requests, sum.iterations);
  figures.prefill_share = share(sum.prefill_s, time_s);
  figures.decode_share = share(sum.decode_s, time_s);
  figures.mixed_share = share(sum.mixed_s, time_s);
  figures.idle_share = std::max(0.0, 1 - figures.prefill_share - figures.decode_share - figures.mixed_share);
  figures.kv_peak_share = share(sum.peak_blocks, kv_blocks);
  figures.kv_mean_share = share(sum.block_seconds, static_cast<double>(kv_blocks) * time_s);
  figures.preemptions = sum.preemptions;
  figures.prefix_hit_share = share(sum.cached_tokens, sum.prompt_tokens);
  figures.output_tokens = sum.output_tokens;
  return figures;
}

OracleFigures oracle_figures(std::span<const replica::ReplicaStats> replicas) {
  replica::ReplicaStats sum;
  for (const replica::ReplicaStats& stats : replicas) accumulate(sum, stats);
  const double predicted_s = sum.measured_s + sum.interpolated_s + sum.extrapolated_s + sum.roofline_s;
  return {
      .measured = share(sum.measured_s, predicted_s),
      .interpolated = share(sum.interpolated_s, predicted_s),
      .extrapolated = share(sum.extrapolated_s, predicted_s),
      .roofline = share(sum.roofline_s, predicted_s),
      .stated_error = sum.stated_error_s > 0 ? std::optional(share(sum.stated_error_s, predicted_s)) : std::nullopt};
}

}  // namespace dooly::results
