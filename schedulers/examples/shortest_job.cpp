#include "shortest_job.hpp"

#include <algorithm>

using dooly::sdk::Plan;
using dooly::sdk::PrefixHit;
using dooly::sdk::RequestView;

ShortestJob::ShortestJob(const dooly::sdk::Options& options)
    : aging_(options.number("aging")),
      window_(options.integer("window")),
      preempt_(options.boolean("preempt")) {}

void ShortestJob::schedule(Plan& plan) {
  if (preempt_) make_place(plan);
  if (serve_running(plan)) admit_waiting(plan);
}

ShortestJob::Rank ShortestJob::rank(const RequestView& request, double now_s) const {
  const std::uint32_t made = request.generated + request.in_flight;
  const std::uint32_t to_make = request.output > made ? request.output - made : 0;
  return {request.priority, request.remaining() + to_make - aging_ * (now_s - request.arrival_s)};
}

/// The running request that would give way. Precondition: something runs.
RequestView ShortestJob::last_in_rank(const Plan& plan) const {
  RequestView last;
  Rank worst{};
  plan.for_each_running([&](const RequestView& request) {
    const Rank its = rank(request, plan.now_s());
    if (last.id == dooly::sdk::kNoRequest || its >= worst) {  // of equals the newest
      last = request;
      worst = its;
    }
  });
  return last;
}

/// The best of the first `window` waiting requests that has not been passed over.
std::optional<RequestView> ShortestJob::first_in_rank(Plan& plan) const {
  const RequestView* const head = plan.next_waiting();
  if (head == nullptr) return std::nullopt;
  RequestView first = *head;
  Rank best = rank(first, plan.now_s());
  std::int64_t looked_at = 0;
  std::size_t cursor = 0;
  RequestView buffer[16];
  while (const std::size_t count = plan.read_waiting(cursor, buffer)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (++looked_at > window_) return first;
      if (const Rank its = rank(buffer[i], plan.now_s()); its < best) {
        first = buffer[i];
        best = its;
      }
    }
  }
  return first;
}

/// One place a call: a running request of lower priority goes back to the queue if every place is taken.
void ShortestJob::make_place(Plan& plan) const {
  if (plan.running_count() < plan.limits().max_num_seqs) return;
  const std::optional<RequestView> waiting = first_in_rank(plan);
  if (!waiting) return;
  const RequestView victim = last_in_rank(plan);
  if (victim.priority <= waiting->priority) return;
  plan.explain("a more urgent request takes a place");
  plan.preempt(victim.id);
}

/// Gives every running request its next tokens; without KV blocks the last in rank gives way. True if nobody had to.
bool ShortestJob::serve_running(Plan& plan) const {
  bool preempted = false;
  for (;;) {
    const Plan::Stop stop = plan.schedule_running();
    if (stop != Plan::Stop::kNoBlocks) return stop == Plan::Stop::kDone && !preempted;
    plan.preempt(last_in_rank(plan).id);
    preempted = true;
    if (plan.running_count() == 0) return false;
  }
}

void ShortestJob::admit_waiting(Plan& plan) const {
  while (plan.budget() > 0 && plan.running_count() < plan.limits().max_num_seqs) {
    const std::optional<RequestView> request = first_in_rank(plan);
    if (!request) return;
    const PrefixHit hit = plan.find_prefix(request->id);
    if (!hit.known) {
      plan.skip(request->id);
      continue;
    }
    if (hit.loads) {
      if (!plan.start_load(request->id)) return;
      continue;
    }
    std::uint32_t tokens = request->prompt + request->generated - request->computed - hit.tokens();
    if (!plan.limits().enable_chunked_prefill && tokens > plan.budget()) return;
    tokens = std::min(tokens, plan.budget());
    if (!plan.try_allocate(request->id, tokens)) return;
    plan.admit(request->id, tokens);
  }
}
