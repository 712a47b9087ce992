// One scheduling call: growing the running list in bulk or request by request, and preemption.
#include "replica_core/engine.hpp"

#include <algorithm>
#include <utility>

namespace dooly::replica {

Batch& Engine::schedule(double now_s) {
  begin_call(now_s);
  run_policy();
  commit_batch();
  in_call_ = false;
  return *batches_.back();
}

/// What a policy throws of its own is the policy's fault, whatever its type.
void Engine::run_policy() {
  try {
    policy_.schedule(*this);
  } catch (const PolicyBreach&) {
    throw;
  } catch (const std::exception& problem) {
    throw PolicyBreach("policy failed in scheduling call " + std::to_string(call_) + ": " + problem.what());
  }
}

void Engine::begin_call(double now_s) {
  now_s_ = now_s;
  budget_ = pause_ == Pause::kAll ? 0 : config_.max_num_batched_tokens;
  in_call_ = true;
  unsettled_ = false;
  open_allocations_ = 0;
  found_ = kNobody;
  bulk_begun_ = bulk_done_ = false;
  walking_ = !bulk_;
  blocks_wanted_ = blocks_taken_ = 0;
  explicit_cursor_ = cursor_ = 0;
  pass_over_ = 0;
  stopped_ = kNobody;
  started_.clear();
  loads_started_.clear();
  cache_->evicted = 0;
  std::unique_ptr<Batch> batch;
  if (spare_batches_.empty()) {
    batch = std::make_unique<Batch>();
  } else {
    batch = std::move(spare_batches_.back());
    spare_batches_.pop_back();
  }
  batch_ = batch.get();
  batch_->call = call_;
  batch_->decodes = 0;
  batch_->decodes_by_class.clear();
  batch_->preempted = 0;
  batch_->entries.clear();
  batch_->ending.clear();
  batch_->detached.clear();
  batch_->chunks.clear();
  batch_->shape = {};
  batch_->tokens = 0;
  batch_->context_after = 0;
  spare_batches_.push_back(std::move(batch));  // becomes a batch in flight at the commit
  if (recording_) {
    record_ = CallRecord{};
    record_.call = call_;
    sync_cache_counts();
    tables_before_.clear();
    for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1))
      remember_table(running_.at(at));
  }
}

void Engine::remember_table(std::uint32_t index) {
  std::vector<std::uint32_t> lengths;
  for (std::size_t g = 0; g < config_.groups.size(); ++g) lengths.push_back(cache_->table_length(index, g));
  tables_before_.emplace_back(index, std::move(lengths));
}

// --- the running list

std::uint32_t Engine::next_tokens(const Slot& s, std::uint32_t budget) const {
  if (s.state == State::kEnding) return 0;
  const std::uint32_t known_tokens = s.prompt + s.generated;
  if (s.placeholders > 0 && s.computed + 2 - s.placeholders >= s.prompt + s.output)
    return 0;  // its last token is in flight
  if (s.computed + 1 >= config_.max_model_len) return 0;
  std::uint32_t tokens = known_tokens + s.placeholders - s.computed;
  const std::uint32_t threshold = config_.long_prefill_token_threshold;
  if (threshold > 0 && tokens > threshold) tokens = threshold;
  return std::min({tokens, budget, config_.max_model_len - 1 - s.computed});
}

/// Steady decodes may be grown by count if order decides nothing: all of them get their token, and explicit requests
/// either stand behind them or fit whatever the order.
bool Engine::can_grow_in_bulk() const {
  if (budget_ < decodes_.count()) return false;
  // After a pause every token is known, so keys are given at allocation: not what steady decodes assume.
  if (config_.async_scheduling && batches_.empty() && decodes_.count() > 0) return false;
  std::uint64_t tokens = decodes_.count();
  std::uint64_t blocks = decodes_.blocks_needed();
  bool in_order = true;
  for (const std::uint32_t index : explicit_) {
    const Slot& s = slots_[index];
    const std::uint32_t next = next_tokens(s, budget_);
    if (next == 0) continue;
    if (s.scheduled_call == call_ || s.allocated > 0) return false;  // scheduled by hand
    if (s.order < last_steady_order_) in_order = false;
    tokens += next;
    const std::uint32_t held = cache_->table_length(index, 0);
    const std::uint32_t wanted = (s.computed + next + limits_.block_size - 1) / limits_.block_size;
    blocks += wanted > held ? wanted - held : 0;
  }
  return in_order || decodes_.count() == 0 || (tokens <= budget_ && blocks <= cache_->free_blocks());
}

sdk::Plan::Stop Engine::schedule_running() {
  if (budget_ == 0) return Stop::kBudget;
  if (!walking_ && !bulk_begun_ && !can_grow_in_bulk()) start_walk();
  return walking_ ? walk() : grow_in_bulk();
}

sdk::Plan::Stop Engine::grow_in_bulk() {
  if (!bulk_begun_) {
    bulk_begun_ = true;
    blocks_wanted_ = decodes_.blocks_needed();
  }
  if (blocks_wanted_ > 0) {
    const std::uint32_t take = std::min(blocks_wanted_, cache_->free_blocks());
    if (take > 0) cache_->take(take);
    found_ = kNobody;
    blocks_taken_ += take;
    blocks_wanted_ -= take;
    stopped_ = kNobody;
    if (blocks_wanted_ > 0) return Stop::kNoBlocks;
  }
  if (!bulk_done_) finish_bulk();
  return visit_explicit();
}

void Engine::finish_bulk() {
  bulk_done_ = true;
  budget_ -= decodes_.count();
}

/// While steady decodes are short of blocks: how many of them stand before the first without and have their token.
std::uint32_t Engine::served_in_bulk() const {
  if (!is_short_in_bulk()) return 0;
  const sdk::RequestId stopped = stopped_at();
  if (stopped == sdk::kNoRequest) return 0;
  std::uint32_t served = 0;
  const std::size_t end = running_.position(static_cast<std::uint32_t>(stopped));
  for (std::size_t at = running_.next(0); at < end; at = running_.next(at + 1))
    served += slots_[running_.at(at)].state == State::kSteady ? 1 : 0;
  return served;
}

sdk::Plan::Stop Engine::visit_explicit() {
  for (; explicit_cursor_ < explicit_.size(); ++explicit_cursor_) {
    if (budget_ == 0) return Stop::kBudget;
    const std::uint32_t index = explicit_[explicit_cursor_];
    if (slots_[index].scheduled_call == call_) continue;
    const std::uint32_t tokens = next_tokens(slots_[index], budget_);
    if (tokens == 0) continue;
    if (!schedule_explicit(index, tokens)) {
      stopped_ = index;
      return Stop::kNoBlocks;
    }
  }
  stopped_ = kNobody;
  return budget_ == 0 ? Stop::kBudget : Stop::kDone;
}

sdk::Plan::Stop Engine::walk() {
  for (cursor_ = running_.next(cursor_); cursor_ < running_.end(); cursor_ = running_.next(cursor_)) {
    if (budget_ == 0) return Stop::kBudget;
    const std::uint32_t index = running_.at(cursor_);
    const Slot& s = slots_[index];
    const std::uint32_t tokens = s.scheduled_call == call_ ? 0 : next_tokens(s, budget_);
    if (tokens > 0 && !schedule_explicit(index, tokens)) {
      stopped_ = index;
      return Stop::kNoBlocks;
    }
    ++cursor_;
    for (; tokens > 0 && pass_over_ > 0; --pass_over_) cursor_ = std::min(running_.next(cursor_) + 1, running_.end());
  }
  stopped_ = kNobody;
  return budget_ == 0 ? Stop::kBudget : Stop::kDone;
}

bool Engine::schedule_explicit(std::uint32_t index, std::uint32_t tokens) {
  if (!cache_->allocate(kv_request(index), {.new_tokens = tokens})) return false;
  found_ = kNobody;
  add_entry(index, tokens);
  return true;
}

void Engine::add_entry(std::uint32_t index, std::uint32_t tokens) {
  Slot& s = slots_[index];
  s.scheduled_call = call_;
  s.entry = static_cast<std::uint32_t>(batch_->entries.size());
  if (std::exchange(s.allocated, 0) > 0) --open_allocations_;
  batch_->entries.push_back(
      {.slot = index, .generation = s.generation, .tokens = tokens, .order = s.order, .samples = false});
  budget_ -= tokens;
}

void Engine::take_entry_back(std::uint32_t index) {
  Slot& s = slots_[index];
  BatchEntry& entry = batch_->entries[s.entry];
  budget_ += entry.tokens;
  entry.tokens = 0;
  s.scheduled_call = kNoCall;
}

/// The request that had no blocks; found by walking when steady decodes were short of them.
sdk::RequestId Engine::stopped_at() const {
  if (stopped_ != kNobody) return id_of(stopped_);
  if (!bulk_begun_ || blocks_wanted_ == 0) return sdk::kNoRequest;
  const std::uint32_t last = running_.last();
  if (blocks_wanted_ == 1 && slots_[last].state == State::kSteady && decodes_.needs_block(last)) return id_of(last);
  std::uint32_t served = blocks_taken_;
  for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1)) {
    const std::uint32_t index = running_.at(at);
    if (slots_[index].state != State::kSteady || !decodes_.needs_block(index)) continue;
    if (served-- == 0) return id_of(index);
  }
  return sdk::kNoRequest;
}

// --- from steady to explicit

/// Tells the cache what a steady or ending decode holds. `grown`: it got its block in the call in progress.
void Engine::sync_cache(std::uint32_t index, bool grown) {
  const Slot& s = slots_[index];
  const std::uint32_t tokens = computed(index);
  const std::uint32_t extra = grown ? 1 : 0;
  std::uint32_t keyed = tokens + extra;  // synchronous: keys are given with the block
  if (config_.async_scheduling && pending_samples(s) > 0) --keyed;  // the newest token is not known yet
  const std::uint32_t size = limits_.block_size;
  cache_->sync_decode(index, (tokens + extra + size - 1) / size, keyed / size);
}

/// Gives a steady or ending request its own counters; the caller puts it into a list or takes it away.
void Engine::make_explicit(std::uint32_t index, bool grown) {
  Slot& s = slots_[index];
  const std::uint32_t pending = pending_samples(s);
  sync_cache(index, grown);
  s.computed = computed(index);
  s.generated = s.computed + 1 - pending - s.prompt;
  s.placeholders = config_.async_scheduling ? pending : 0;
  s.in_flight = pending;
  s.free_after = numbered_batches_;
  if (batches_.empty() || batches_.front()->call > s.known_from) s.last_token_s = last_client_s_;
  for (const auto& batch : batches_) {
    if (batch->call < s.steady_from || (s.state == State::kEnding && batch->call > s.ending_call)) continue;
    --batch->decodes;
    if (s.request_class < batch->decodes_by_class.size()) --batch->decodes_by_class[s.request_class];
    if (s.state == State::kEnding && s.ending_call == batch->call) continue;
    batch->detached.push_back(
        {.slot = index, .generation = s.generation, .tokens = 1, .order = s.order, .samples = true});
  }
  if (s.state == State::kSteady) {
    decodes_.remove(index);
    --steady_by_class_[s.request_class];
  }
  s.state = State::kExplicit;
}

/// From here on this call visits every request by itself.
void Engine::start_walk() {
  if (bulk_begun_) return stop_bulk_and_walk();
  walking_ = true;
  cursor_ = 0;
  explicit_.clear();
  for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1)) {
    const std::uint32_t index = running_.at(at);
    if (slots_[index].state != State::kExplicit) make_explicit(index, false);
    explicit_.push_back(index);
  }
  explicit_cursor_ = explicit_.size();
}

/// The bulk growth stopped half-way: those before the request without blocks have their token, the others not.
void Engine::stop_bulk_and_walk() {
  const bool short_of_blocks = !bulk_done_ && blocks_wanted_ > 0;
  const std::uint32_t next_explicit = explicit_cursor_ < explicit_.size() ? explicit_[explicit_cursor_] : kNobody;
  std::uint32_t served = blocks_taken_;
  bool before_stop = true;
  walking_ = true;
  if (bulk_done_) budget_ += decodes_.count();  // given out again one by one
  cursor_ = running_.end();
  explicit_.clear();
  for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1)) {
    const std::uint32_t index = running_.at(at);
    const State state = slots_[index].state;
    if (state == State::kSteady) {
      const bool needs = decodes_.needs_block(index);
      if (before_stop && short_of_blocks && needs && served == 0) {
        before_stop = false;
        stopped_ = index;
        cursor_ = at;
      }
      make_explicit(index, before_stop);
      if (before_stop) {
        if (needs && short_of_blocks) --served;
        add_entry(index, 1);
      }
    } else if (state == State::kEnding) {
      make_explicit(index, false);
    } else if (index == next_explicit && !short_of_blocks) {
      cursor_ = at;
    }
    explicit_.push_back(index);
  }
  std::stable_sort(batch_->entries.begin(), batch_->entries.end(),
                   [](const BatchEntry& a, const BatchEntry& b) { return a.order < b.order; });
  for (std::uint32_t i = 0; i < batch_->entries.size(); ++i)
    if (batch_->entries[i].tokens > 0) slots_[batch_->entries[i].slot].entry = i;
  explicit_cursor_ = explicit_.size();
  blocks_wanted_ = 0;
  bulk_done_ = false;
  bulk_begun_ = false;
}

// --- preemption

void Engine::leave_running(std::uint32_t index) {
  running_.remove(index);
  if (!bulk_) return;
  const auto at = std::find(explicit_.begin(), explicit_.end(), index);
  if (at == explicit_.end()) return;
  if (static_cast<std::size_t>(at - explicit_.begin()) < explicit_cursor_) --explicit_cursor_;
  explicit_.erase(at);
}

void Engine::release_blocks(std::uint32_t index, KvCache::Release why) {
  const Slot& s = slots_[index];
  if (!config_.defer_block_free || s.free_after <= read_batches_ || !cache_->holds_table(index)) {
    cache_->release(kv_request(index), why);
  } else {
    deferred_.push_back({numbered_batches_, cache_->detach(kv_request(index), why)});
  }
}

void Engine::preempt_core(std::uint32_t index, bool grown) {
  Slot& s = slots_[index];
  if (s.state != State::kExplicit) make_explicit(index, grown);
  if (recording_ && in_call_) {
    CallRecord::Preemption lost{s.tag, s.computed, {}};
    for (std::size_t g = 0; g < config_.groups.size(); ++g)
      lost.held.push_back(cache_->table_length(index, g) - cache_->null_entries(index, g));
    record_.preempted.push_back(std::move(lost));
  }
  release_blocks(index, KvCache::Release::kPreempted);
  std::erase(unfinished_prefills_, index);
  leave_running(index);
  s.state = State::kWaiting;
  s.in_skipped = false;
  s.computed = 0;
  if (std::exchange(s.allocated, 0) > 0) --open_allocations_;
  s.hit = s.remote = 0;
  found_ = kNobody;
  ++s.preemptions;
  ++preemptions_;
  if (in_call_) {
    ++batch_->preempted;
    unsettled_ = true;
  }
  waiting_.push_front(index, rank(s));
}

void Engine::preempt(sdk::RequestId running) {
  const auto index = static_cast<std::uint32_t>(running);
  Slot& s = named(running);
  expect(is_running(s), "preemption of a request that does not run", index);
  if (bulk_begun_ && !walking_ && index != running_.last()) stop_bulk_and_walk();
  bool grown = false;
  const bool short_before = is_short_in_bulk();
  if (bulk_begun_ && !walking_ && s.state == State::kSteady) {
    if (bulk_done_) {
      grown = true;
      ++budget_;
    } else if (decodes_.needs_block(index)) {
      --blocks_wanted_;  // the last in the list has not got its block yet
    }
  }
  if (s.scheduled_call == call_) {
    take_entry_back(index);
  } else if (walking_ && stopped_ != index && running_.position(index) < cursor_) {
    ++pass_over_;  // vLLM's list shifts under its cursor, which is moved back only for a scheduled victim
  }
  preempt_core(index, grown);
  if (short_before && blocks_wanted_ == 0) finish_bulk();  // it was the only one without a block
}

}  // namespace dooly::replica
