#include "replica_core/engine.hpp"

#include <algorithm>
#include <utility>

namespace dooly::replica {

Engine::Engine(const EngineConfig& config, sdk::SchedulerPolicy& policy, std::unique_ptr<KvCache> cache)
    : config_(config),
      policy_(policy),
      cache_(std::move(cache)),
      decodes_(config.groups.front().block_size),
      waiting_(config.by_priority),
      skipped_(config.by_priority),
      steady_by_class_(1, 0) {
  bulk_ = cache_->grows_in_bulk() && config.max_num_seqs <= config.max_num_batched_tokens;
  limits_ = {.max_num_batched_tokens = config.max_num_batched_tokens,
             .max_num_seqs = config.max_num_seqs,
             .max_model_len = config.max_model_len,
             .block_size = config.groups.front().block_size,
             .long_prefill_token_threshold = config.long_prefill_token_threshold,
             .enable_chunked_prefill = config.enable_chunked_prefill,
             .by_priority = config.by_priority,
             .reserves_full_prompt = config.reserve_full_prompt};
}

// --- slots

std::uint32_t Engine::new_slot() {
  std::uint32_t index;
  if (free_slots_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  const std::uint32_t generation = slots_[index].generation + 1;
  slots_[index] = Slot{};
  slots_[index].generation = generation;
  cache_->open(index);
  return index;
}

void Engine::free_slot(std::uint32_t index) {
  slots_[index].state = State::kFree;
  ++slots_[index].generation;
  free_slots_.push_back(index);
}

std::uint32_t Engine::find_tag(RequestTag tag) const {
  for (std::uint32_t index = 0; index < slots_.size(); ++index)
    if (slots_[index].state != State::kFree && slots_[index].tag == tag) return index;
  return kNobody;
}

std::uint32_t Engine::computed(std::uint32_t index) const {
  return slots_[index].state == State::kSteady ? decodes_.computed(index) : slots_[index].computed;
}

/// Batches in flight whose sampled token of this steady or ending request is not known.
std::uint32_t Engine::pending_samples(const Slot& s) const {
  std::uint32_t pending = 0;
  for (const auto& batch : batches_)
    if (batch->call >= s.known_from && (s.state != State::kEnding || batch->call <= s.ending_call)) ++pending;
  return pending;
}

std::uint32_t Engine::known(std::uint32_t index) const {
  const Slot& s = slots_[index];
  if (s.state == State::kSteady || s.state == State::kEnding) return computed(index) + 1 - pending_samples(s);
  return s.prompt + s.generated;
}

/// Computed tokens after the last step of a request that nobody interrupts.
std::uint32_t Engine::last_computed(const Slot& s) const {
  return std::min(s.prompt + s.output, config_.max_model_len) - 1;
}

KvRequest Engine::kv_request(std::uint32_t index) const {
  const Slot& s = slots_[index];
  return {.slot = index,
          .prompt = s.prompt,
          .known = known(index),
          .computed = computed(index),
          .in_flight = s.in_flight,
          .unique_key = s.unique_key,
          .content = s.content};
}

// --- inputs

void Engine::add(const ReplicaRequest& request) {
  const std::uint32_t index = new_slot();
  Slot& s = slots_[index];
  s.tag = request.tag;
  s.state = State::kWaiting;
  s.request_class = request.request_class;
  if (s.request_class >= steady_by_class_.size()) steady_by_class_.resize(s.request_class + std::size_t{1}, 0);
  s.priority = request.priority;
  s.prompt = request.prompt;
  s.output = request.output;
  s.arrival_s = request.arrival_s;
  s.sequence = request.sequence;
  s.deadline_s = request.deadline_s;
  s.unique_key = request.unique_key;
  s.content = request.content;
  s.remote_kv = request.remote;
  s.unknown_lookups = request.remote.unknown_lookups;
  waiting_.push_back(index, rank(s));
}

void Engine::abort(RequestTag request) {
  const std::uint32_t index = find_tag(request);
  if (index == kNobody) return;
  Slot& s = slots_[index];
  if (s.state == State::kSteady || s.state == State::kEnding) make_explicit(index, false);
  const bool still_loading = s.state == State::kLoading && !s.load_arrived;
  finish(index, still_loading);
  if (still_loading) s.state = State::kGone;
}

void Engine::load_finished(RequestTag request) {
  const std::uint32_t index = find_tag(request);
  if (index == kNobody) return;
  if (slots_[index].state == State::kLoading) {
    slots_[index].load_arrived = true;
  } else {
    release_held(request);
  }
}

void Engine::release_held(RequestTag request) {
  const std::uint32_t index = find_tag(request);
  if (index == kNobody) return;
  release_blocks(index, KvCache::Release::kFinished);
  std::erase(lingering_, index);
  free_slot(index);
}

bool Engine::reset_cache(bool preempt_running) {
  if (preempt_running) {
    while (running_.size() > 0) {
      const std::uint32_t index = running_.last();
      preempt_core(index, false);
      slots_[index].discard = slots_[index].placeholders;
      slots_[index].placeholders = 0;
    }
  }
  return cache_->reset();
}

bool Engine::has_requests() const {
  if (finished_ids_ || (config_.has_connector && !lingering_.empty())) return true;
  switch (pause_) {
    case Pause::kAll: return false;
    case Pause::kNew: return running_.size() > 0;
    case Pause::kNone: break;
  }
  return running_.size() + waiting_total() > 0;
}

// --- looking

std::uint32_t Engine::cached_prefix(const ReplicaRequest& request) const {
  return cache_->peek({.slot = 0,
                       .prompt = request.prompt,
                       .known = request.prompt,
                       .computed = 0,
                       .in_flight = 0,
                       .unique_key = request.unique_key,
                       .content = request.content});
}

std::vector<RequestTag> Engine::running_tags() const {
  std::vector<RequestTag> tags;
  for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1))
    tags.push_back(slots_[running_.at(at)].tag);
  return tags;
}

std::vector<RequestTag> Engine::waiting_tags(std::size_t at_most) const {
  std::vector<RequestTag> tags;
  waiting_.for_each([&](std::uint32_t index) {
    if (tags.size() < at_most) tags.push_back(slots_[index].tag);
    return tags.size() < at_most;
  });
  return tags;
}

std::vector<RequestTag> Engine::skipped_tags() const {
  std::vector<RequestTag> tags;
  skipped_.for_each([&](std::uint32_t index) {
    tags.push_back(slots_[index].tag);
    return true;
  });
  return tags;
}

std::vector<std::pair<RequestTag, std::string>> Engine::stuck() const {
  std::vector<std::pair<RequestTag, std::string>> all;
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    const Slot& s = slots_[index];
    std::string why;
    switch (s.state) {
      case State::kFree: continue;
      case State::kWaiting:
        why = "waits for admission: " + std::to_string((known(index) + limits_.block_size - 1) / limits_.block_size) +
              " KV blocks wanted, " + std::to_string(cache_->free_blocks()) + " free, " +
              std::to_string(running_.size()) + " running";
        break;
      case State::kLoading:
        why = s.load_arrived ? "its KV has arrived, the queue before it does not move" : "waits for its KV transfer";
        break;
      case State::kHeld: why = "finished, holds its blocks for a transfer"; break;
      case State::kGone: why = "aborted during a KV transfer"; break;
      default:
        why = "runs with " + std::to_string(computed(index)) + " of " + std::to_string(s.prompt + s.output) +
              " tokens computed";
    }
    all.emplace_back(s.tag, std::move(why));
  }
  return all;
}

void Engine::sync_cache_counts() {
  for (std::size_t at = running_.next(0); at < running_.end(); at = running_.next(at + 1)) {
    const State state = slots_[running_.at(at)].state;
    if (state == State::kSteady || state == State::kEnding) sync_cache(running_.at(at), false);
  }
}

// --- light steps

std::uint32_t Engine::light_steps(std::uint32_t at_most) const {
  if (!bulk_ || recording_ || decodes_.count() == 0 || !explicit_.empty() || pause_ != Pause::kNone ||
      !deferred_.empty())
    return 0;
  if (running_.size() != decodes_.count()) return 0;  // somebody is ending
  for (const auto& batch : batches_)
    if (!batch->pure_decode()) return 0;
  if (decodes_.count() > config_.max_num_batched_tokens) return 0;
  const std::uint64_t to_end = std::min<std::uint64_t>(decodes_.steps_to_end(), at_most);
  if (to_end == 0) return 0;
  return std::min(static_cast<std::uint32_t>(to_end), policy_.horizon(*this));
}

oracle::BatchShape Engine::light_shape(std::uint32_t ahead) const {
  const std::uint64_t n = decodes_.count();
  oracle::BatchShape shape;
  shape.decodes = decodes_.count();
  shape.decode_context = decodes_.context() + ahead * n;
  shape.decode_context_squares =
      decodes_.context_squares() + 2 * std::uint64_t{ahead} * decodes_.context() + std::uint64_t{ahead} * ahead * n;
  const std::uint64_t k = ahead;
  shape.decode_context_cubes =
      decodes_.context_cubes() + 3 * k * decodes_.context_squares() + 3 * k * k * decodes_.context() + k * k * k * n;
  shape.decode_longest = decodes_.longest() + ahead;
  shape.logits_rows = decodes_.count();
  tell_shared(shape);
  return shape;
}

/// Groups of layers hold blocks of their own for the same tokens. Requests that hold blocks but are not in the batch,
/// as they wait for a transfer, read nothing: those of the batch are taken to share as all do.
void Engine::tell_shared(oracle::BatchShape& shape) const {
  const SharedKv shared = cache_->shared();
  if (shared.blocks == 0) return;
  std::uint64_t tokens = 0, groups = 0;
  for (const KvGroup& group : config_.groups) {
    if (group.kind != KvGroup::Kind::kFull) continue;
    tokens = group.block_size;
    ++groups;
  }
  const std::uint64_t holders = std::max(2U, cache_->holders());
  const std::uint64_t readers = std::clamp<std::uint64_t>(shape.requests(), 1, holders);
  shape.shared_tokens = shared.blocks * tokens / groups;
  shape.repeated_tokens = shared.repeats * tokens / groups * (readers - 1) / (holders - 1);
}

void Engine::commit_light(std::uint32_t steps, double last_client_s) {
  std::uint32_t blocks = 0;
  for (std::uint32_t i = 0; i < steps; ++i) blocks += decodes_.blocks_needed(i);
  if (blocks > 0) cache_->take(blocks);
  decodes_.advance(steps);
  call_ += steps;
  finished_ids_ = false;
  if (config_.defer_block_free) {
    numbered_batches_ += steps;
    read_batches_ += steps;
  }
  for (const auto& batch : batches_) batch->call += steps;
  last_client_s_ = last_client_s;
}

}  // namespace dooly::replica
