// Processing a batch's result: tokens, finishes, and the blocks that come free with them.
#include "replica_core/engine.hpp"

#include <algorithm>

namespace dooly::replica {

std::span<const ResultEvent> Engine::read_result(double client_s) {
  events_.clear();
  std::unique_ptr<Batch> batch = std::move(batches_.front());
  batches_.pop_front();
  if (config_.defer_block_free && batch->tokens > 0) {
    ++read_batches_;
    while (!deferred_.empty() && deferred_.front().after <= read_batches_) {
      cache_->free_detached(deferred_.front().handle);
      deferred_.pop_front();
    }
  }
  if (batch->ending.empty() && batch->detached.empty()) {
    for (const BatchEntry& entry : batch->entries) result_of(entry, client_s);
  } else {
    merged_.clear();
    merged_.insert(merged_.end(), batch->entries.begin(), batch->entries.end());
    merged_.insert(merged_.end(), batch->ending.begin(), batch->ending.end());
    merged_.insert(merged_.end(), batch->detached.begin(), batch->detached.end());
    if (merged_.size() > 1)
      std::stable_sort(merged_.begin(), merged_.end(),
                       [](const BatchEntry& a, const BatchEntry& b) { return a.order < b.order; });
    for (const BatchEntry& entry : merged_) {
      const Slot& s = slots_[entry.slot];
      const bool ends = s.generation == entry.generation && s.state == State::kEnding && s.ending_call == batch->call;
      if (ends) {
        finish_steady(entry.slot, client_s);
      } else {
        result_of(entry, client_s);
      }
    }
  }
  last_client_s_ = client_s;
  spare_batches_.push_back(std::move(batch));
  return events_;
}

void Engine::emit(std::uint32_t index, bool first, bool finished, bool steady, double client_s) {
  Slot& s = slots_[index];
  events_.push_back({.tag = s.tag,
                     .request_class = s.request_class,
                     .first = first,
                     .finished = finished,
                     .steady = steady,
                     .previous_token_s = s.last_token_s,
                     .output = s.generated,
                     .preemptions = s.preemptions});
  s.last_token_s = client_s;
}

void Engine::finish_steady(std::uint32_t index, double client_s) {
  Slot& s = slots_[index];
  sync_cache(index, false);
  s.generated = s.computed + 1 - s.prompt;
  s.free_after = 0;
  s.placeholders = 0;
  s.state = State::kExplicit;
  emit(index, false, true, true, client_s);
  finish(index, s.remote_kv.hold_blocks);
}

void Engine::result_of(const BatchEntry& entry, double client_s) {
  Slot& s = slots_[entry.slot];
  if (s.generation != entry.generation || entry.tokens == 0) return;
  if (s.state == State::kSteady || s.state == State::kEnding) {  // its first steps are in flight already
    if (!entry.samples) return;
    const bool first = s.generated == 0;
    ++s.generated;
    emit(entry.slot, first, false, false, client_s);
    return;
  }
  s.in_flight -= std::min(s.in_flight, entry.tokens);
  if (s.state == State::kHeld || s.state == State::kGone || !entry.samples) return;
  if (s.discard > 0) {
    --s.discard;
    return;
  }
  const bool first = s.generated == 0;
  ++s.generated;
  const std::uint32_t known_tokens = s.prompt + s.generated;
  const bool stops = known_tokens >= config_.max_model_len || s.generated >= s.output;
  if (config_.async_scheduling) {
    --s.placeholders;
    if (s.state == State::kExplicit) cache_->store(kv_request(entry.slot), s.computed - s.placeholders);
  }
  emit(entry.slot, first, stops, false, client_s);
  if (stops) finish(entry.slot, s.remote_kv.hold_blocks);
}

void Engine::finish(std::uint32_t index, bool hold) {
  Slot& s = slots_[index];
  std::erase(unfinished_prefills_, index);
  if (is_running(s)) {
    leave_running(index);
  } else if (is_waiting(s)) {
    (s.in_skipped ? skipped_ : waiting_).remove(index, rank(s));
  }
  finished_ids_ = true;
  if (hold) {
    cache_->publish(kv_request(index));
    s.state = State::kHeld;
    lingering_.push_back(index);
    return;
  }
  release_blocks(index, KvCache::Release::kFinished);
  free_slot(index);
}

}  // namespace dooly::replica
