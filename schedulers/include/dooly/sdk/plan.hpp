#pragma once

#include "dooly/sdk/request_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dooly::sdk {

/// The engine's fixed limits, as `vllm serve` names them.
struct Limits {
  std::uint32_t max_num_batched_tokens = 0;
  std::uint32_t max_num_seqs = 0;
  std::uint32_t max_model_len = 0;
  std::uint32_t block_size = 0;
  std::uint32_t long_prefill_token_threshold = 0;  ///< 0: none
  bool enable_chunked_prefill = true;
  bool by_priority = false;  ///< queues are ordered by (priority, arrival, id) instead of first come, first served
  bool reserves_full_prompt = true;  ///< a prompt is admitted only if all of its blocks fit
};

/// Answer to "how much of this request's prompt is cached already?"
struct PrefixHit {
  bool known = true;           ///< false: the engine cannot say yet; pass the request over in this call
  bool loads = false;          ///< `remote` tokens arrive by an asynchronous load: use start_load, not admit
  std::uint32_t local = 0;     ///< tokens found in this replica's cache (whole blocks, never the last token)
  std::uint32_t remote = 0;    ///< further tokens that a transfer brings
  std::uint32_t tokens() const { return local + remote; }
};

/// One scheduling call. Everything a policy may see or do goes through here; each action takes effect at once in the
/// engine's KV cache and is checked. A breach (over budget, finished request, tokens without blocks, ...) ends the run
/// and names the rule, the policy and the iteration. Valid only during the call. Ids of the running list and the
/// waiting queues are the only legal arguments.
class Plan {
 public:
  enum class Stop : std::uint8_t {
    kDone,     ///< every running request has been visited
    kBudget,   ///< the token budget is used up
    kNoBlocks  ///< no KV blocks for the request `stopped_at()`
  };

  // --- what there is
  virtual double now_s() const = 0;
  virtual const Limits& limits() const = 0;
  virtual std::uint32_t budget() const = 0;         ///< tokens that may still be scheduled in this call
  virtual std::uint32_t free_blocks() const = 0;
  virtual std::uint32_t total_blocks() const = 0;
  virtual std::size_t running_count() const = 0;
  virtual std::size_t waiting_count() const = 0;    ///< held-back requests included
  virtual RequestView view(RequestId request) const = 0;
  virtual RequestId last_running() const = 0;       ///< kNoRequest if none
  virtual std::uint32_t scheduled_now(RequestId request) const = 0;  ///< tokens given to it in this call

  /// Copies running (waiting) requests in queue order into `into`, going on from `cursor` (start with 0); returns how
  /// many. 0: the end. The cost is that of the requests copied. Waiting requests that the engine holds back (a load in
  /// progress) are left out. Actions make a cursor invalid.
  virtual std::size_t read_running(std::size_t& cursor, std::span<RequestView> into) const = 0;
  virtual std::size_t read_waiting(std::size_t& cursor, std::span<RequestView> into) const = 0;

  /// Next waiting request in the engine's queue order that the engine does not hold back and that was not skipped in
  /// this call; nullptr if there is none or admissions are paused: then nobody may be admitted, though read_waiting()
  /// may show some. A policy that picks from the middle of the queue asks here first. Valid until the next action.
  virtual const RequestView* next_waiting() = 0;

  // --- what to do
  /// Gives every running request its next tokens in list order by the engine's rules until it returns why it stopped;
  /// a second call goes on from there. Costs what changed since the last call, not the length of the list.
  virtual Stop schedule_running() = 0;
  virtual RequestId stopped_at() const = 0;  ///< the request without blocks after kNoBlocks

  virtual PrefixHit find_prefix(RequestId waiting) = 0;
  /// Takes KV blocks for `tokens` more tokens of a running or waiting request (for a waiting one together with its
  /// prefix hit, under the admission rules). False, and nothing happened, if they do not fit.
  virtual bool try_allocate(RequestId request, std::uint32_t tokens) = 0;
  virtual void schedule(RequestId running, std::uint32_t tokens) = 0;  ///< after try_allocate of as many tokens
  virtual void admit(RequestId waiting,
                     std::uint32_t tokens) = 0;  ///< likewise; the request moves to the end of the running list
  /// Reserves blocks for a remote load and starts it; the engine holds the request back until it has arrived. False,
  /// and nothing happened, if the blocks do not fit.
  virtual bool start_load(RequestId waiting) = 0;
  virtual void preempt(RequestId running) = 0;  ///< frees its blocks; it goes back to the head of its waiting queue
  virtual void skip(RequestId waiting) = 0;  ///< pass over it in this call
  virtual void explain(std::string_view why) = 0;  ///< shown in decisions.jsonl; free when nobody records

  /// Visits every running request in list order.
  template <class Visit>
  void for_each_running(Visit&& visit) const {
    RequestView buffer[64];
    std::size_t cursor = 0;
    while (const std::size_t count = read_running(cursor, buffer))
      for (std::size_t i = 0; i < count; ++i) visit(static_cast<const RequestView&>(buffer[i]));
  }
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    RequestView buffer[64];
    std::size_t cursor = 0;
    while (const std::size_t count = read_waiting(cursor, buffer))
      for (std::size_t i = 0; i < count; ++i) visit(static_cast<const RequestView&>(buffer[i]));
  }

 protected:
  Plan() = default;
  ~Plan() = default;
  Plan(const Plan&) = default;
  Plan& operator=(const Plan&) = default;
};

}  // namespace dooly::sdk
