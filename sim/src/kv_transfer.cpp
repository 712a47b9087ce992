#include "sim/kv_transfer.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace dooly::sim {

using replica::RequestTag;

void KvTransfers::offer(RequestTag request, std::uint32_t prefill_replica, double ready_s) {
  const Move move{.ready_s = ready_s,
                  .reserved_s = 0,
                  .bytes = 0,
                  .prefill_replica = prefill_replica,
                  .decode_replica = 0,
                  .stage = Stage::kOffered};
  if (!moves_.emplace(request, move).second)
    throw std::logic_error(fmt::format("KV of request {} is offered twice", request));
}

KvTransfers::Move& KvTransfers::offered(RequestTag request) {
  const auto found = moves_.find(request);
  if (found == moves_.end() || found->second.stage != Stage::kOffered)
    throw std::logic_error(fmt::format("KV of request {} is not on offer", request));
  return found->second;
}

bool KvTransfers::is_offered(RequestTag request) const {
  const auto found = moves_.find(request);
  return found != moves_.end() && found->second.stage == Stage::kOffered;
}

void KvTransfers::load_started(RequestTag request, std::uint32_t decode_replica, std::uint64_t bytes, double now_s) {
  Move& move = offered(request);
  move.stage = Stage::kMoving;
  move.reserved_s = now_s;
  move.decode_replica = decode_replica;
  move.bytes = bytes;
  network_.start_flow(move.prefill_replica, decode_replica, move.bytes, now_s, *this, request);
}

void KvTransfers::not_needed(RequestTag request, double now_s) {
  const Move move = offered(request);
  moves_.erase(request);
  client_.release_held(move.prefill_replica, request, now_s);
  client_.transferred(request, {.wait_s = now_s - move.ready_s}, now_s);
}

void KvTransfers::flow_ended(std::uint64_t tag, double now_s) {
  const auto request = static_cast<RequestTag>(tag);
  const auto found = moves_.find(request);
  const Move move = found->second;
  moves_.erase(found);
  client_.load_finished(move.decode_replica, request, now_s);
  client_.release_held(move.prefill_replica, request, now_s);
  client_.transferred(
      request, {.wait_s = move.reserved_s - move.ready_s, .transfer_s = now_s - move.reserved_s, .bytes = move.bytes},
      now_s);
}

std::vector<KvTransfers::Open> KvTransfers::open() const {
  std::vector<Open> all;
  all.reserve(moves_.size());
  for (const auto& [request, move] : moves_)
    all.push_back({request, move.stage, move.prefill_replica, move.decode_replica,
                   move.stage == Stage::kOffered ? move.ready_s : move.reserved_s});
  std::sort(all.begin(), all.end(), [](const Open& a, const Open& b) { return a.request < b.request; });
  return all;
}

}  // namespace dooly::sim
