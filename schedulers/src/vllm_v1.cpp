#include "vllm_v1.hpp"

#include <algorithm>

namespace dooly::schedulers {

void VllmV1::schedule(sdk::Plan& plan) {
  out_of_blocks_ = false;
  if (run_running(plan)) admit_waiting(plan);  // a call that preempts admits nobody
}

/// Says whether nobody had to be preempted.
bool VllmV1::run_running(sdk::Plan& plan) {
  bool undisturbed = true;
  while (plan.schedule_running() == sdk::Plan::Stop::kNoBlocks) {
    const sdk::RequestId loser = victim(plan);
    const bool itself = loser == plan.stopped_at();
    plan.preempt(loser);
    undisturbed = false;
    if (itself) break;
  }
  return undisturbed;
}

/// First come, first served: the last of the running list. By priority: the least urgent, then the latest arrival;
/// among equals the earliest in the list.
sdk::RequestId VllmV1::victim(const sdk::Plan& plan) {
  if (!plan.limits().by_priority) return plan.last_running();
  sdk::RequestView worst;
  plan.for_each_running([&](const sdk::RequestView& request) {
    const bool worse = worst.id == sdk::kNoRequest || request.priority > worst.priority ||
                       (request.priority == worst.priority && request.arrival_s > worst.arrival_s);
    if (worse) worst = request;
  });
  return worst.id;
}

void VllmV1::admit_waiting(sdk::Plan& plan) {
  const sdk::Limits& limits = plan.limits();
  while (plan.budget() > 0 && plan.running_count() < limits.max_num_seqs) {
    const sdk::RequestView* head = plan.next_waiting();
    if (head == nullptr) return;
    const sdk::RequestView request = *head;
    const sdk::PrefixHit hit = plan.find_prefix(request.id);
    if (!hit.known) {
      plan.skip(request.id);
      continue;
    }
    if (hit.loads) {
      if (!plan.start_load(request.id)) {
        out_of_blocks_ = true;
        return;
      }
      continue;
    }
    // A resumed request recomputes its outputs too.
    std::uint32_t tokens = request.prompt + request.generated - request.computed - hit.tokens();
    const std::uint32_t threshold = limits.long_prefill_token_threshold;
    if (threshold > 0 && tokens > threshold) tokens = threshold;
    if (!limits.enable_chunked_prefill && tokens > plan.budget()) return;
    tokens = std::min(tokens, plan.budget());
    if (!plan.try_allocate(request.id, tokens)) {
      out_of_blocks_ = true;
      return;
    }
    plan.admit(request.id, tokens);
  }
}

/// While only decodes run, free blocks only shrink and seats stay taken: a head that did not fit keeps waiting. Without
/// the full-prompt rule evicting a block that the head would hit can lower its need, so then every call counts.
std::uint32_t VllmV1::horizon(const sdk::Plan& plan) const {
  if (plan.waiting_count() == 0 || plan.running_count() >= plan.limits().max_num_seqs) return kAlways;
  return out_of_blocks_ && plan.limits().reserves_full_prompt ? kAlways : 0;
}

}  // namespace dooly::schedulers
