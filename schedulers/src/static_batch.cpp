#include "static_batch.hpp"

#include <algorithm>

namespace dooly::schedulers {

using sdk::Plan;
using sdk::PrefixHit;
using sdk::RequestId;
using sdk::RequestView;

void StaticBatch::schedule(Plan& plan) {
  if (plan.running_count() == 0) open_places_ = std::min(batch_size_, plan.limits().max_num_seqs);
  if (serve_running(plan)) fill(plan);
}

std::uint32_t StaticBatch::horizon(const Plan& plan) const {
  return open_places_ == 0 && plan.running_count() > 0 ? kAlways : 0;
}

/// Whether everybody got tokens and nobody had to be preempted for it.
bool StaticBatch::serve_running(Plan& plan) {
  bool preempted = false;
  for (;;) {
    const Plan::Stop stop = plan.schedule_running();
    if (stop != Plan::Stop::kNoBlocks) return stop == Plan::Stop::kDone && !preempted;
    const RequestId victim = plan.last_running();
    const bool was_in_need = victim == plan.stopped_at();
    plan.preempt(victim);
    ++open_places_;
    preempted = true;
    if (was_in_need) return false;  // nobody behind it is left to give way
  }
}

void StaticBatch::fill(Plan& plan) {
  while (open_places_ > 0 && plan.budget() > 0 && plan.running_count() < plan.limits().max_num_seqs) {
    const RequestView* const next = plan.next_waiting();
    if (next == nullptr) {
      open_places_ = 0;  // whoever comes later waits for the next batch
      return;
    }
    if (!admit(plan, *next)) return;
  }
}

/// False: it has to wait, and whoever is behind it too.
bool StaticBatch::admit(Plan& plan, RequestView request) {
  const PrefixHit hit = plan.find_prefix(request.id);
  if (!hit.known) {
    plan.skip(request.id);
    return true;
  }
  if (hit.loads) return plan.start_load(request.id);

  std::uint32_t tokens = request.prompt + request.generated - request.computed - hit.tokens();
  if (const std::uint32_t threshold = plan.limits().long_prefill_token_threshold; threshold > 0) {
    tokens = std::min(tokens, threshold);
  }
  if (!plan.limits().enable_chunked_prefill && tokens > plan.budget()) return false;
  tokens = std::min(tokens, plan.budget());
  if (!plan.try_allocate(request.id, tokens)) return false;
  plan.admit(request.id, tokens);
  --open_places_;
  return true;
}

}  // namespace dooly::schedulers
