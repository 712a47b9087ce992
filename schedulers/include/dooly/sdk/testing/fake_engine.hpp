#pragma once

#include "dooly/sdk/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dooly::sdk::testing {

/// A policy broke a rule of the plan; what() begins with the rule.
class Breach : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct FakeRequest {
  std::uint32_t prompt = 1;
  std::uint32_t output = 1;
  std::int32_t priority = 0;  ///< lower is more urgent
  std::uint16_t request_class = 0;
  double deadline_s = 0;
  std::uint32_t cached = 0;           ///< prompt tokens that find_prefix() finds, whole blocks of them
  std::uint32_t unknown_lookups = 0;  ///< so many find_prefix() answer "not yet known"
};

/// What one step did.
struct FakeStep {
  std::vector<std::pair<RequestId, std::uint32_t>> scheduled;  ///< who got how many tokens
  std::vector<RequestId> preempted;
  std::vector<RequestId> finished;
  std::uint32_t tokens = 0;
};

/// A small engine to test policies with: synchronous, KV blocks are a counter, a step takes one second. It checks each
/// action and throws Breach. Requests are numbered 0, 1, 2, ... in the order of add().
class FakeEngine final : public Plan {
 public:
  struct Settings {
    Limits limits{.max_num_batched_tokens = 8192, .max_num_seqs = 256, .max_model_len = 32768, .block_size = 16};
    std::uint32_t blocks = 10000;
    bool grant_output_lengths = false;  ///< whether policies see true output lengths
  };

  FakeEngine() : FakeEngine(Settings{}) {}
  explicit FakeEngine(const Settings& settings) : settings_(settings), free_blocks_(settings.blocks) {}

  RequestId add(const FakeRequest& request);
  void abort(RequestId request);
  /// One scheduling call, then its result.
  FakeStep step(SchedulerPolicy& policy);
  /// Steps until everything has finished, at most `steps` times; the number of steps made.
  std::size_t run(SchedulerPolicy& policy, std::size_t steps);
  bool is_idle() const { return running_.empty() && waiting_.empty(); }
  const std::vector<RequestId>& running() const { return running_; }
  const std::vector<RequestId>& waiting() const { return waiting_; }
  bool has_finished(RequestId request) const { return at(request).state == State::kGone; }

  // --- Plan
  double now_s() const override { return static_cast<double>(steps_); }
  const Limits& limits() const override { return settings_.limits; }
  std::uint32_t budget() const override { return budget_; }
  std::uint32_t free_blocks() const override { return free_blocks_; }
  std::uint32_t total_blocks() const override { return settings_.blocks; }
  std::size_t running_count() const override { return running_.size(); }
  std::size_t waiting_count() const override { return waiting_.size(); }
  RequestView view(RequestId request) const override { return at(request).view; }
  RequestId last_running() const override { return running_.empty() ? kNoRequest : running_.back(); }
  std::uint32_t scheduled_now(RequestId request) const override { return at(request).scheduled; }
  std::size_t read_running(std::size_t& cursor, std::span<RequestView> into) const override {
    return read(running_, cursor, into);
  }
  std::size_t read_waiting(std::size_t& cursor, std::span<RequestView> into) const override {
    return read(waiting_, cursor, into);
  }
  const RequestView* next_waiting() override;
  Stop schedule_running() override;
  RequestId stopped_at() const override { return stopped_at_; }
  PrefixHit find_prefix(RequestId waiting) override;
  bool try_allocate(RequestId request, std::uint32_t tokens) override;
  void schedule(RequestId running, std::uint32_t tokens) override;
  void admit(RequestId waiting, std::uint32_t tokens) override;
  bool start_load(RequestId waiting) override;
  void preempt(RequestId running) override;
  void skip(RequestId waiting) override;
  void explain(std::string_view) override {}

 private:
  enum class State : std::uint8_t { kWaiting, kRunning, kGone };
  struct Slot {
    State state = State::kWaiting;
    RequestView view;
    std::uint32_t output = 0;
    std::uint32_t cached = 0;
    std::uint32_t unknown_lookups = 0;
    std::uint32_t hit = 0;        ///< found in this call
    std::uint32_t allocated = 0;  ///< and not scheduled yet, in this call
    std::uint32_t scheduled = 0;  ///< in this call
    bool skipped = false;
  };

  const Slot& at(RequestId request) const { return slots_.at(static_cast<std::size_t>(request)); }
  Slot& at(RequestId request) { return slots_.at(static_cast<std::size_t>(request)); }
  std::size_t read(const std::vector<RequestId>& list, std::size_t& cursor, std::span<RequestView> into) const;
  static void expect(bool holds, const char* rule, RequestId request);
  Slot& expect_state(RequestId request, State state, const char* rule);
  void enqueue(RequestId request, bool at_head);
  std::uint32_t next_tokens(const Slot& slot) const;
  void release(Slot& slot);
  void give(RequestId request, std::uint32_t tokens);
  void finish_step(FakeStep& step);

  Settings settings_;
  std::vector<Slot> slots_;
  std::vector<RequestId> running_;
  std::vector<RequestId> waiting_;
  std::uint32_t free_blocks_;
  std::uint32_t budget_ = 0;
  std::size_t cursor_ = 0;  ///< of schedule_running()
  RequestId stopped_at_ = kNoRequest;
  std::vector<RequestId> preempted_;
  std::size_t steps_ = 0;
};

// ------------------------------------------------------------------------------------------------------------ inputs

inline RequestId FakeEngine::add(const FakeRequest& request) {
  const RequestId id{static_cast<std::uint32_t>(slots_.size())};
  Slot slot;
  slot.view = {.id = id,
               .prompt = request.prompt,
               .output = settings_.grant_output_lengths ? request.output : 0,
               .priority = request.priority,
               .request_class = request.request_class,
               .arrival_s = now_s(),
               .deadline_s = request.deadline_s};
  slot.output = request.output;
  slot.cached =
      std::min(request.cached, request.prompt - 1) / settings_.limits.block_size * settings_.limits.block_size;
  slot.unknown_lookups = request.unknown_lookups;
  slots_.push_back(slot);
  enqueue(id, false);
  return id;
}

inline void FakeEngine::abort(RequestId request) {
  Slot& slot = at(request);
  if (slot.state == State::kGone) return;
  std::erase(running_, request);
  std::erase(waiting_, request);
  release(slot);
  slot.state = State::kGone;
}

inline void FakeEngine::enqueue(RequestId request, bool at_head) {
  const auto rank = [this](RequestId id) { return std::pair(at(id).view.priority, at(id).view.arrival_s); };
  auto place = at_head ? waiting_.begin() : waiting_.end();
  if (settings_.limits.by_priority) {
    place = std::find_if(waiting_.begin(), waiting_.end(), [&](RequestId other) {
      return std::pair(rank(request), request) < std::pair(rank(other), other);
    });
  }
  waiting_.insert(place, request);
}

// ------------------------------------------------------------------------------------------------------------- steps

inline FakeStep FakeEngine::step(SchedulerPolicy& policy) {
  budget_ = settings_.limits.max_num_batched_tokens;
  cursor_ = 0;
  stopped_at_ = kNoRequest;
  preempted_.clear();
  for (Slot& slot : slots_) {
    slot.hit = slot.allocated = slot.scheduled = 0;
    slot.skipped = false;
  }
  policy.schedule(*this);
  FakeStep step;
  step.preempted = preempted_;
  finish_step(step);
  ++steps_;
  return step;
}

inline void FakeEngine::finish_step(FakeStep& step) {
  for (const RequestId id : running_) {
    Slot& slot = at(id);
    RequestView& view = slot.view;
    expect(slot.allocated == 0, "what is allocated must be scheduled", id);
    if (slot.scheduled == 0) continue;
    step.scheduled.emplace_back(id, slot.scheduled);
    step.tokens += slot.scheduled;
    view.computed += slot.scheduled;
    if (view.computed == view.prompt + view.generated) ++view.generated;
    view.decoding = view.computed + 1 == view.prompt + view.generated && view.generated > 0;
    if (view.generated < slot.output && view.prompt + view.generated < settings_.limits.max_model_len) continue;
    step.finished.push_back(id);
  }
  for (const RequestId id : waiting_) expect(at(id).allocated == 0, "what is allocated must be scheduled", id);
  for (const RequestId id : step.finished) abort(id);
}

inline std::size_t FakeEngine::run(SchedulerPolicy& policy, std::size_t steps) {
  for (std::size_t made = 0; made < steps; ++made) {
    if (is_idle()) return made;
    step(policy);
  }
  return steps;
}

// -------------------------------------------------------------------------------------------------------------- Plan

inline std::size_t FakeEngine::read(const std::vector<RequestId>& list, std::size_t& cursor,
                                    std::span<RequestView> into) const {
  std::size_t count = 0;
  while (count < into.size() && cursor < list.size()) into[count++] = at(list[cursor++]).view;
  return count;
}

inline void FakeEngine::expect(bool holds, const char* rule, RequestId request) {
  if (holds) return;
  throw Breach(std::string(rule) + " (request " + std::to_string(static_cast<std::uint32_t>(request)) + ")");
}

inline FakeEngine::Slot& FakeEngine::expect_state(RequestId request, State state, const char* rule) {
  expect(static_cast<std::size_t>(request) < slots_.size(), "only requests of the queues are legal", request);
  expect(at(request).state != State::kGone, "a finished request takes no action", request);
  expect(at(request).state == state, rule, request);
  return at(request);
}

inline const RequestView* FakeEngine::next_waiting() {
  for (const RequestId id : waiting_) {
    if (!at(id).skipped) return &at(id).view;
  }
  return nullptr;
}

/// The rules of vLLM's V1 scheduler for its running list.
inline std::uint32_t FakeEngine::next_tokens(const Slot& slot) const {
  std::uint32_t tokens = slot.view.remaining();
  if (const std::uint32_t threshold = limits().long_prefill_token_threshold; threshold > 0) {
    tokens = std::min(tokens, threshold);
  }
  return std::min({tokens, budget_, limits().max_model_len - 1 - slot.view.computed});
}

inline Plan::Stop FakeEngine::schedule_running() {
  for (; cursor_ < running_.size(); ++cursor_) {
    if (budget_ == 0) return Stop::kBudget;
    const RequestId id = running_[cursor_];
    const std::uint32_t tokens = at(id).scheduled > 0 ? 0 : next_tokens(at(id));
    if (tokens == 0) continue;
    if (!try_allocate(id, tokens)) {
      stopped_at_ = id;
      return Stop::kNoBlocks;
    }
    give(id, tokens);
  }
  return Stop::kDone;
}

inline PrefixHit FakeEngine::find_prefix(RequestId waiting) {
  Slot& slot = expect_state(waiting, State::kWaiting, "only waiting requests look for a prefix");
  if (slot.unknown_lookups > 0) {
    --slot.unknown_lookups;
    return {.known = false};
  }
  slot.hit = slot.view.computed == 0 ? slot.cached : 0;
  return {.local = slot.hit};
}

inline bool FakeEngine::try_allocate(RequestId request, std::uint32_t tokens) {
  expect(static_cast<std::size_t>(request) < slots_.size(), "only requests of the queues are legal", request);
  Slot& slot = at(request);
  RequestView& view = slot.view;
  expect(slot.state != State::kGone, "a finished request takes no action", request);
  expect(tokens > 0, "an allocation is for at least one token", request);
  expect(slot.allocated == 0 && slot.scheduled == 0, "a request is scheduled once in a call", request);
  expect(view.computed + slot.hit + tokens <= view.prompt + view.generated, "no more tokens than are known", request);

  const auto blocks_for = [this](std::uint32_t count) {
    return (count + limits().block_size - 1) / limits().block_size;
  };
  const std::uint32_t needed = blocks_for(view.computed + slot.hit + tokens) - view.blocks;
  const bool whole = slot.state == State::kWaiting && limits().reserves_full_prompt;
  const std::uint32_t must_fit = whole ? blocks_for(view.prompt + view.generated) - view.blocks : needed;
  if (must_fit > free_blocks_) return false;
  free_blocks_ -= needed;
  view.blocks += needed;
  slot.allocated = tokens;
  return true;
}

inline void FakeEngine::give(RequestId request, std::uint32_t tokens) {
  Slot& slot = at(request);
  expect(tokens > 0 && slot.allocated == tokens, "tokens need an allocation of as many", request);
  expect(tokens <= budget_, "the budget is not exceeded", request);
  slot.allocated = 0;
  slot.scheduled = tokens;
  budget_ -= tokens;
}

inline void FakeEngine::schedule(RequestId running, std::uint32_t tokens) {
  expect_state(running, State::kRunning, "only running requests are scheduled");
  give(running, tokens);
}

inline void FakeEngine::admit(RequestId waiting, std::uint32_t tokens) {
  Slot& slot = expect_state(waiting, State::kWaiting, "only waiting requests are admitted");
  expect(running_.size() < limits().max_num_seqs, "max_num_seqs is not exceeded", waiting);
  give(waiting, tokens);
  slot.view.computed += slot.hit;
  slot.state = State::kRunning;
  std::erase(waiting_, waiting);
  running_.push_back(waiting);
  if (cursor_ == running_.size() - 1) ++cursor_;
}

inline bool FakeEngine::start_load(RequestId waiting) {
  expect(false, "only a prefix hit that loads is loaded", waiting);
  return false;
}

inline void FakeEngine::release(Slot& slot) {
  free_blocks_ += slot.view.blocks;
  slot.view.blocks = 0;
}

inline void FakeEngine::preempt(RequestId running) {
  Slot& slot = expect_state(running, State::kRunning, "only running requests are preempted");
  const auto place = std::find(running_.begin(), running_.end(), running);
  if (static_cast<std::size_t>(place - running_.begin()) < cursor_) --cursor_;
  running_.erase(place);
  release(slot);
  budget_ += slot.scheduled;
  slot.allocated = slot.scheduled = slot.hit = 0;
  slot.view.computed = 0;
  slot.view.decoding = false;
  ++slot.view.preemptions;
  slot.state = State::kWaiting;
  preempted_.push_back(running);
  enqueue(running, true);
}

inline void FakeEngine::skip(RequestId waiting) {
  expect_state(waiting, State::kWaiting, "only waiting requests are skipped").skipped = true;
}

}  // namespace dooly::sdk::testing
