// The plan as a policy sees it: views, the waiting queue, and the checked actions.
#include "replica_core/engine.hpp"

#include <algorithm>

namespace dooly::replica {

sdk::RequestView Engine::make_view(std::uint32_t index) const {
  const Slot& s = slots_[index];
  const bool derived = s.state == State::kSteady || s.state == State::kEnding;
  const std::uint32_t pending = derived ? pending_samples(s) : 0;
  sdk::RequestView view;
  view.id = id_of(index);
  view.prompt = s.prompt;
  view.computed = computed(index);
  view.generated = derived ? view.computed + 1 - pending - s.prompt : s.generated;
  view.in_flight = derived ? (config_.async_scheduling ? pending : 0) : s.placeholders;
  view.output = config_.grant_output_lengths ? s.output : 0;
  view.blocks =
      derived ? (view.computed + limits_.block_size - 1) / limits_.block_size : cache_->table_length(index, 0);
  view.preemptions = s.preemptions;
  view.priority = s.priority;
  view.request_class = s.request_class;
  view.decoding = view.computed >= s.prompt && view.remaining() == 1;
  view.arrival_s = s.arrival_s;
  view.deadline_s = s.deadline_s;
  return view;
}

void Engine::breach(std::string_view rule, std::uint32_t index) const {
  std::string message = "policy broke a rule in scheduling call " + std::to_string(call_) + ": " + std::string(rule);
  if (index < slots_.size()) message += " (request " + std::to_string(slots_[index].tag) + ")";
  throw PolicyBreach(message);
}

sdk::RequestView Engine::view(sdk::RequestId request) const {
  const auto index = static_cast<std::uint32_t>(request);
  expect(index < slots_.size() && slots_[index].state != State::kFree, "asked about a request that has left", index);
  return make_view(index);
}

/// The request that a policy names.
Engine::Slot& Engine::named(sdk::RequestId id) {
  const auto index = static_cast<std::uint32_t>(id);
  expect(index < slots_.size(), "an action on no request", index);
  return slots_[index];
}

sdk::RequestId Engine::last_running() const { return running_.size() == 0 ? sdk::kNoRequest : id_of(running_.last()); }

std::uint32_t Engine::scheduled_now(sdk::RequestId request) const {
  const auto index = static_cast<std::uint32_t>(request);
  expect(index < slots_.size(), "asked about no request", index);
  const Slot& s = slots_[index];
  if (s.state == State::kSteady) {
    if (bulk_done_ || served_in_bulk() == 0) return bulk_done_ ? 1 : 0;
    return running_.position(index) < running_.position(static_cast<std::uint32_t>(stopped_at())) ? 1 : 0;
  }
  return s.scheduled_call == call_ && batch_ != nullptr ? batch_->entries[s.entry].tokens : 0;
}

std::size_t Engine::read_running(std::size_t& cursor, std::span<sdk::RequestView> into) const {
  std::size_t count = 0;
  for (cursor = running_.next(cursor); cursor < running_.end() && count < into.size();
       cursor = running_.next(cursor + 1))
    into[count++] = make_view(running_.at(cursor));
  return count;
}

// The cursor is 1 + the slot last returned: the skipped queue first, then the waiting one.
std::size_t Engine::read_waiting(std::size_t& cursor, std::span<sdk::RequestView> into) const {
  constexpr std::size_t kEnd = ~std::size_t{0};
  std::size_t count = 0;
  while (count < into.size() && cursor != kEnd) {
    std::uint32_t index = kNobody;
    bool in_skipped = true;
    if (cursor == 0) {
      index = skipped_.head_or_none();
    } else {
      const auto last = static_cast<std::uint32_t>(cursor - 1);
      in_skipped = slots_[last].in_skipped;
      index = (in_skipped ? skipped_ : waiting_).next(last, rank(slots_[last]));
    }
    if (index == kNobody && in_skipped) index = waiting_.head_or_none();
    if (index == kNobody) {
      cursor = kEnd;
      break;
    }
    cursor = std::size_t{index} + 1;
    if (slots_[index].state == State::kLoading) continue;  // the engine holds it back
    into[count++] = make_view(index);
  }
  return count;
}

const sdk::RequestView* Engine::next_waiting() {
  if (pause_ != Pause::kNone) return nullptr;
  while (true) {
    if (waiting_.empty() && skipped_.empty()) return nullptr;
    bool from_skipped = !skipped_.empty();
    if (config_.by_priority && from_skipped && !waiting_.empty())
      from_skipped = rank(slots_[skipped_.head()]) <= rank(slots_[waiting_.head()]);
    WaitingQueue& queue = from_skipped ? skipped_ : waiting_;
    const std::uint32_t index = queue.head();
    Slot& s = slots_[index];
    if (s.state == State::kLoading && !promote_loaded(index)) {
      queue.remove(index, rank(s));
      put_back(index);
      continue;
    }
    head_view_ = make_view(index);
    return &head_view_;
  }
}

/// The remote KV has arrived: its content may be looked up, the last token is computed here.
bool Engine::promote_loaded(std::uint32_t index) {
  Slot& s = slots_[index];
  if (!s.load_arrived) return false;
  cache_->store(kv_request(index), s.computed);
  if (s.computed == known(index)) --s.computed;
  s.load_arrived = false;
  s.state = State::kWaiting;
  return true;
}

sdk::PrefixHit Engine::find_prefix(sdk::RequestId waiting) {
  const auto index = static_cast<std::uint32_t>(waiting);
  Slot& s = named(waiting);
  expect(s.state == State::kWaiting && !s.put_back, "find_prefix of a request that does not wait", index);
  s.hit = s.remote = 0;
  s.found_call = call_;
  if (s.computed != 0) return {};
  s.hit = cache_->find(kv_request(index));
  found_ = index;
  if (s.unknown_lookups > 0) {
    --s.unknown_lookups;
    unsettled_ = true;
    return {.known = false};
  }
  const auto beyond = [&](std::uint32_t tokens) {
    const std::uint32_t most = std::min(tokens, known(index) - 1);
    return most > s.hit ? most - s.hit : 0;
  };
  bool asynchronous = false;
  switch (s.remote_kv.load) {
    case RemoteKv::Load::kNone: break;
    case RemoteKv::Load::kPromptOnce:
      s.remote = s.remote_kv.tokens > 0 ? beyond(s.remote_kv.tokens) : s.prompt - s.hit;
      if (s.loaded) s.remote = 0;
      asynchronous = true;
      break;
    case RemoteKv::Load::kAlways:
      s.remote = beyond(s.remote_kv.tokens);
      asynchronous = true;
      break;
    case RemoteKv::Load::kImmediate: s.remote = beyond(s.remote_kv.tokens); break;
  }
  return {.known = true, .loads = asynchronous && s.remote > 0, .local = s.hit, .remote = s.remote};
}

/// The hit that an allocation builds on must be what the cache has now.
void Engine::confirm_hit(std::uint32_t index) {
  Slot& s = slots_[index];
  if (s.found_call != call_) s.hit = s.remote = 0;
  if (s.hit == 0 || found_ == index) return;
  expect(cache_->find(kv_request(index)) == s.hit,
         "an outdated prefix hit: find_prefix comes right before try_allocate", index);
}

bool Engine::try_allocate(sdk::RequestId request, std::uint32_t tokens) {
  const auto index = static_cast<std::uint32_t>(request);
  Slot& s = named(request);
  expect(tokens > 0, "allocation of no tokens", index);
  expect(s.allocated == 0, "a second allocation without scheduling the first", index);
  if (is_running(s)) {
    if (bulk_ && !walking_) start_walk();
    expect(s.scheduled_call != call_, "allocation for a request that is scheduled already", index);
    if (!cache_->allocate(kv_request(index), {.new_tokens = tokens})) return false;
  } else {
    expect(s.state == State::kWaiting && !s.put_back && pause_ == Pause::kNone,
           "allocation for a request that is held back or has left", index);
    if (is_short_in_bulk()) stop_bulk_and_walk();
    confirm_hit(index);
    const KvGrant grant{.new_tokens = tokens,
                        .hit = s.hit,
                        .external = s.remote,
                        .admission = true,
                        .reserve_full = config_.reserve_full_prompt,
                        .watermark = running_.size() > 0 ? config_.watermark_blocks : 0};
    if (!cache_->allocate(kv_request(index), grant)) return false;
  }
  s.allocated = tokens;
  ++open_allocations_;
  found_ = kNobody;
  return true;
}

void Engine::schedule(sdk::RequestId running, std::uint32_t tokens) {
  const auto index = static_cast<std::uint32_t>(running);
  Slot& s = named(running);
  expect(s.state == State::kExplicit, "schedule of a request that does not run or has no allocation", index);
  expect(tokens > 0 && s.allocated == tokens, "schedule without an allocation of as many tokens", index);
  expect(tokens <= budget_, "over the token budget", index);
  expect(tokens <= s.prompt + s.generated + s.placeholders - s.computed, "more tokens than the request has left",
         index);
  expect(s.computed + tokens < config_.max_model_len, "beyond max_model_len", index);
  add_entry(index, tokens);
}

void Engine::admit(sdk::RequestId waiting, std::uint32_t tokens) {
  const auto index = static_cast<std::uint32_t>(waiting);
  Slot& s = named(waiting);
  expect(s.state == State::kWaiting && !s.put_back, "admission of a request that does not wait", index);
  expect(tokens > 0 && s.allocated == tokens, "admission without an allocation of as many tokens", index);
  expect(tokens <= budget_, "over the token budget", index);
  expect(running_.size() < config_.max_num_seqs, "over max_num_seqs", index);
  const std::uint32_t start = s.computed == 0 ? s.hit + s.remote : s.computed;
  expect(start + tokens <= s.prompt + s.generated, "more tokens than the request has left", index);
  (s.in_skipped ? skipped_ : waiting_).remove(index, rank(s));
  if (s.remote > 0) s.loaded = true;
  s.computed = start;
  s.state = State::kExplicit;
  s.order = next_order_++;
  running_.append(index);
  if (bulk_) explicit_.push_back(index);
  add_entry(index, tokens);
  if (!s.ever_scheduled) started_.push_back({s.tag, s.hit, s.prompt});
  if (recording_) {
    CallRecord::Admission admission{s.tag, s.preemptions > 0, tokens, start, s.hit, {}, {}, new_ids(index, {})};
    for (std::size_t g = 0; g < config_.groups.size(); ++g) {
      admission.table.push_back(cache_->table_length(index, g));
      admission.nulls.push_back(cache_->null_entries(index, g));
    }
    record_.admitted.push_back(std::move(admission));
  }
  s.ever_scheduled = true;
  if (config_.has_connector && start + tokens < s.prompt + s.generated &&
      std::find(unfinished_prefills_.begin(), unfinished_prefills_.end(), index) == unfinished_prefills_.end())
    unfinished_prefills_.push_back(index);
}

bool Engine::start_load(sdk::RequestId waiting) {
  const auto index = static_cast<std::uint32_t>(waiting);
  Slot& s = named(waiting);
  confirm_hit(index);
  expect(s.state == State::kWaiting && !s.put_back && s.remote > 0, "load of a request that has nothing to load",
         index);
  if (is_short_in_bulk()) stop_bulk_and_walk();
  std::uint32_t reserved = 0;
  for (const std::uint32_t other : unfinished_prefills_) reserved += cache_->missing_blocks(kv_request(other));
  const KvGrant grant{.new_tokens = 0,
                      .hit = s.hit,
                      .external = s.remote,
                      .admission = true,
                      .reserve_full = config_.reserve_full_prompt,
                      .watermark = running_.size() > 0 ? config_.watermark_blocks : 0,
                      .reserved = reserved,
                      .delay_caching = true};
  if (!cache_->allocate(kv_request(index), grant)) return false;
  (s.in_skipped ? skipped_ : waiting_).remove(index, rank(s));
  put_back(index);
  found_ = kNobody;
  s.state = State::kLoading;
  s.loaded = true;
  s.computed = s.hit + s.remote;
  unfinished_prefills_.push_back(index);
  loads_started_.push_back({s.tag, s.hit, s.remote});
  if (recording_) {
    CallRecord::Load load{s.tag, s.hit, s.remote, {}, new_ids(index, {})};
    for (std::size_t g = 0; g < config_.groups.size(); ++g) load.table.push_back(cache_->table_length(index, g));
    record_.loads.push_back(std::move(load));
  }
  return true;
}

void Engine::put_back(std::uint32_t index) {
  slots_[index].put_back = true;
  put_back_.push_back(index);
}

void Engine::skip(sdk::RequestId waiting) {
  const auto index = static_cast<std::uint32_t>(waiting);
  Slot& s = named(waiting);
  expect(s.state == State::kWaiting && !s.put_back, "skip of a request that does not wait", index);
  (s.in_skipped ? skipped_ : waiting_).remove(index, rank(s));
  put_back(index);
}

void Engine::explain(std::string_view why) {
  if (!recording_) return;
  if (!record_.why.empty()) record_.why += "; ";
  record_.why += why;
}

}  // namespace dooly::replica
