// The prefill/decode split: a prefilled request goes to its decode replica, its KV follows.
#include "simulation_impl.hpp"

#include <algorithm>

namespace dooly::sim {

using Stage = LiveRequest::Stage;

void Simulation::Impl::hand_over(RequestTag tag, double now_s) {
  LiveRequest& live = live_[tag];
  ++handed_over_;
  transfers_.offer(tag, live.replica, now_s);
  place(tag, *route_of(live.request.request_class).decode, Stage::kDecode, now_s);
}

/// KV of the last `tokens` tokens of a prompt, all layers and heads: a sliding window keeps its own length at most.
/// Tensor parallel ranks split it, they do not multiply it.
std::uint64_t Simulation::Impl::transfer_bytes(RequestTag tag, std::uint32_t tokens) {
  const PoolDeployment& pool = deployment_.pools[live_[tag].record.pool];
  const std::uint64_t bytes_of_layer = pool.kv_bytes_per_token / pool.model.layers.size();
  std::uint64_t bytes = 0;
  for (const oracle::LayerShape& layer : pool.model.layers) {
    const bool windowed = layer.attention.kind != oracle::AttentionKind::kFull && layer.attention.window > 0;
    bytes += bytes_of_layer * (windowed ? std::min(tokens, layer.attention.window) : tokens);
  }
  return bytes;
}

void Simulation::Impl::load_started(RequestTag request, std::uint32_t, std::uint32_t tokens, double now_s) {
  transfers_.load_started(request, live_[request].replica, transfer_bytes(request, tokens), now_s);
}

void Simulation::Impl::load_finished(std::uint32_t decode_replica, RequestTag request, double now_s) {
  replicas_[decode_replica]->load_finished(request, now_s);
  pump_.set_turn(decode_replica, replicas_[decode_replica]->next_turn_s());
}

void Simulation::Impl::release_held(std::uint32_t prefill_replica, RequestTag request, double now_s) {
  replicas_[prefill_replica]->release_held(request, now_s);
  pump_.set_turn(prefill_replica, replicas_[prefill_replica]->next_turn_s());
}

void Simulation::Impl::transferred(RequestTag request, const KvTransferTimes& times, double) {
  live_[request].record.transfer_wait_s = times.wait_s;
  live_[request].record.transfer_s = times.transfer_s;
  ++waits_.handed_over;
  waits_.wait_seconds += times.wait_s;
  waits_.longest_wait_s = std::max(waits_.longest_wait_s, times.wait_s);
}

}  // namespace dooly::sim
