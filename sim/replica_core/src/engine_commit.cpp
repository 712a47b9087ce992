// The end of a scheduling call: its batch is committed, and written down if somebody records calls.
#include "replica_core/engine.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dooly::replica {

void Engine::restore_put_back() {
  for (auto index = put_back_.rbegin(); index != put_back_.rend(); ++index) {
    skipped_.push_front(*index, rank(slots_[*index]));
    slots_[*index].in_skipped = true;
    slots_[*index].put_back = false;
  }
  put_back_.clear();
}

void Engine::commit_batch() {
  for (std::uint32_t index = 0; open_allocations_ > 0 && index < slots_.size(); ++index)
    expect(slots_[index].allocated == 0, "an allocation that was not scheduled", index);
  if (is_short_in_bulk()) stop_bulk_and_walk();
  if (bulk_ && !walking_ && !bulk_done_ && running_.size() > explicit_.size())
    start_walk();  // the policy left them out
  restore_put_back();
  if (recording_) record_running();
  const bool steady = bulk_done_ && !walking_;
  Batch& batch = *batch_;
  for (const BatchEntry& entry : batch.entries) batch.tokens += entry.tokens;
  if (steady) batch.tokens += decodes_.count();
  if (config_.defer_block_free && batch.tokens > 0) ++numbered_batches_;
  for (BatchEntry& entry : batch.entries)
    if (entry.tokens > 0) commit_entry(entry);
  commit_steady();
  if (bulk_)
    for (const BatchEntry& entry : batch.entries)
      if (entry.tokens > 0 && entry.samples) enter_steady(entry.slot);
  batch.shape.prefills = batch.chunks;
  tell_shared(batch.shape);
  batch.running = running_.size();
  batch.waiting = waiting_total();
  finished_ids_ = false;
  batches_.push_back(std::move(spare_batches_.back()));
  spare_batches_.pop_back();
  batch_ = nullptr;
  if (recording_) {
    record_.tokens = batch.tokens;
    record_.context_after = batch.context_after;
  }
  ++call_;
}

void Engine::commit_entry(BatchEntry& entry) {
  Slot& s = slots_[entry.slot];
  const std::uint32_t before = s.computed;
  const std::uint32_t all = s.prompt + s.generated + s.placeholders;
  s.computed += entry.tokens;
  s.in_flight += entry.tokens;
  s.free_after = numbered_batches_;
  entry.samples = s.computed >= all;
  batch_->context_after += s.computed;
  if (entry.tokens == 1 && before + 1 == all && before >= s.prompt) {
    ++batch_->shape.decodes;
    batch_->shape.decode_context += before;
    batch_->shape.decode_context_squares += std::uint64_t{before} * before;
    batch_->shape.decode_context_cubes += std::uint64_t{before} * before * before;
    batch_->shape.decode_longest = std::max(batch_->shape.decode_longest, before);
  } else {
    batch_->chunks.push_back({.query = entry.tokens, .context = before});
    batch_->shape.prefill_tokens += entry.tokens;
  }
  if (!entry.samples) return;
  ++batch_->shape.logits_rows;
  if (config_.async_scheduling) ++s.placeholders;
  if (!unfinished_prefills_.empty()) std::erase(unfinished_prefills_, entry.slot);
}

void Engine::commit_steady() {
  const std::uint32_t count = decodes_.count();
  Batch& batch = *batch_;
  batch.decodes = count;
  if (steady_by_class_.size() > 1) batch.decodes_by_class = steady_by_class_;
  batch.shape.decodes += count;
  batch.shape.decode_context += decodes_.context();
  batch.shape.decode_context_squares += decodes_.context_squares();
  batch.shape.decode_context_cubes += decodes_.context_cubes();
  batch.shape.decode_longest = std::max(batch.shape.decode_longest, decodes_.longest());
  batch.shape.logits_rows += count;
  batch.context_after += decodes_.context() + count;
  ended_.clear();
  decodes_.advance_and_collect(ended_);
  for (const std::uint32_t index : ended_) {
    Slot& s = slots_[index];
    s.state = State::kEnding;
    s.computed = last_computed(s);
    s.ending_call = call_;
    --steady_by_class_[s.request_class];
    batch.ending.push_back({.slot = index, .generation = s.generation, .tokens = 1, .order = s.order, .samples = true});
  }
  if (batch.ending.size() > 1)
    std::sort(batch.ending.begin(), batch.ending.end(),
              [](const BatchEntry& a, const BatchEntry& b) { return a.order < b.order; });
}

/// From the next call on the request decodes steadily, unless it is at its end.
void Engine::enter_steady(std::uint32_t index) {
  Slot& s = slots_[index];
  if (s.state != State::kExplicit || s.discard > 0 || s.computed >= last_computed(s)) return;
  s.known_from = config_.async_scheduling ? call_ + 1 - s.placeholders : call_;
  s.steady_from = call_ + 1;
  s.ending_call = kNoCall;
  s.state = State::kSteady;
  decodes_.insert(index, s.computed, last_computed(s));
  ++steady_by_class_[s.request_class];
  last_steady_order_ = std::max(last_steady_order_, s.order);
  std::erase(explicit_, index);
}

// --- recording

std::vector<std::vector<std::uint32_t>> Engine::new_ids(std::uint32_t index,
                                                        std::span<const std::uint32_t> before) const {
  std::vector<std::vector<std::uint32_t>> ids;
  bool any = false;
  for (std::size_t g = 0; g < config_.groups.size(); ++g) {
    const auto table = cache_->block_ids(index, g);
    const std::size_t from = std::min<std::size_t>(before.empty() ? 0 : before[g], table.size());
    ids.emplace_back(table.begin() + static_cast<std::ptrdiff_t>(from), table.end());
    any = any || !ids.back().empty();
  }
  if (!any) ids.clear();
  return ids;
}

void Engine::record_running() {
  const bool steady = bulk_done_ && !walking_;
  for (const auto& [index, before] : tables_before_) {
    const Slot& s = slots_[index];
    if (s.state == State::kSteady && steady) {
      record_.running.push_back({s.tag, 1, decodes_.computed(index), {decodes_.needs_block(index) ? 1U : 0U}, {}});
      record_.running_context += decodes_.computed(index);
    } else if (s.scheduled_call == call_) {
      CallRecord::Run run{s.tag, batch_->entries[s.entry].tokens, s.computed, {}, new_ids(index, before)};
      for (std::size_t g = 0; g < config_.groups.size(); ++g)
        run.new_blocks.push_back(cache_->table_length(index, g) - before[g]);
      record_.running.push_back(std::move(run));
      record_.running_context += s.computed;
    }
  }
  record_.free_blocks = cache_->free_blocks();
  record_.evicted = cache_->evicted;
  if (running_.size() == 0) return;
  const std::uint32_t first = running_.at(running_.next(0));
  if (slots_[first].state == State::kSteady) sync_cache(first, steady);
  if (slots_[first].state == State::kEnding) sync_cache(first, false);
  for (std::size_t g = 0; g < config_.groups.size(); ++g)
    record_.common_prefix.push_back(cache_->common_prefix(first, g));
}

}  // namespace dooly::replica
