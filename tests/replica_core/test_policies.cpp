#include "test_policies.hpp"

#include "random_scenario.hpp"

#include "schedulers/builtin.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::test {
namespace {

using sdk::Plan;
using sdk::PrefixHit;
using sdk::RequestId;
using sdk::RequestView;

enum class Admission { kAdmitted, kPassed, kStopped };

/// Tries to admit one waiting request with at most `most` tokens by vLLM's rules.
Admission try_admit(Plan& plan, const RequestView& request, std::uint32_t most) {
  const PrefixHit hit = plan.find_prefix(request.id);
  if (!hit.known) {
    plan.skip(request.id);
    return Admission::kPassed;
  }
  if (hit.loads) return plan.start_load(request.id) ? Admission::kPassed : Admission::kStopped;
  std::uint32_t tokens = request.prompt + request.generated - request.computed - hit.tokens();
  const std::uint32_t threshold = plan.limits().long_prefill_token_threshold;
  if (threshold > 0) tokens = std::min(tokens, threshold);
  if (!plan.limits().enable_chunked_prefill && tokens > plan.budget()) return Admission::kStopped;
  tokens = std::min({tokens, plan.budget(), most});
  if (!plan.try_allocate(request.id, tokens)) return Admission::kStopped;
  plan.admit(request.id, tokens);
  return Admission::kAdmitted;
}

void admit_in_order(Plan& plan, std::size_t most_running) {
  while (plan.budget() > 0 && plan.running_count() < std::min<std::size_t>(plan.limits().max_num_seqs, most_running)) {
    const RequestView* head = plan.next_waiting();
    if (head == nullptr || try_admit(plan, *head, ~0U) == Admission::kStopped) return;
  }
}

/// Runs the running list, preempting the last one when blocks are short; says whether nobody was preempted.
bool run_and_preempt_last(Plan& plan) {
  bool undisturbed = true;
  while (plan.schedule_running() == Plan::Stop::kNoBlocks) {
    const RequestId loser = plan.last_running();
    const bool itself = loser == plan.stopped_at();
    plan.preempt(loser);
    undisturbed = false;
    if (itself) break;
  }
  return undisturbed;
}

class Capped final : public sdk::SchedulerPolicy {
 public:
  explicit Capped(std::uint32_t cap, std::uint32_t horizon) : cap_(cap), horizon_(horizon) {}
  void schedule(Plan& plan) override {
    if (run_and_preempt_last(plan)) admit_in_order(plan, cap_);
  }
  std::uint32_t horizon(const Plan& plan) const override {
    return plan.waiting_count() == 0 || plan.running_count() >= cap_ ? horizon_ : 0;
  }

 private:
  std::uint32_t cap_, horizon_;
};

std::vector<RequestView> running_views(const Plan& plan) {
  std::vector<RequestView> views;
  plan.for_each_running([&](const RequestView& view) { views.push_back(view); });
  return views;
}

/// vLLM's next tokens of a running request, from its view.
std::uint32_t next_tokens(const Plan& plan, const RequestView& view) {
  if (view.in_flight > 0 && view.computed + 2 - view.in_flight >= view.prompt + view.output) return 0;
  if (view.computed + 1 >= plan.limits().max_model_len) return 0;
  std::uint32_t tokens = view.remaining();
  const std::uint32_t threshold = plan.limits().long_prefill_token_threshold;
  if (threshold > 0) tokens = std::min(tokens, threshold);
  return std::min({tokens, plan.budget(), plan.limits().max_model_len - 1 - view.computed});
}

class ByHand final : public sdk::SchedulerPolicy {
 public:
  void schedule(Plan& plan) override {
    if (serve(plan)) admit_in_order(plan, ~0U);
  }

 private:
  static bool serve(Plan& plan) {
    bool undisturbed = true;
    std::vector<RequestView> list = running_views(plan);
    for (std::size_t i = 0; i < list.size() && plan.budget() > 0; ++i) {
      const std::uint32_t tokens = next_tokens(plan, list[i]);
      if (tokens == 0) continue;
      while (!plan.try_allocate(list[i].id, tokens)) {
        undisturbed = false;
        plan.preempt(list.back().id);
        list.pop_back();
        if (list.size() == i) return false;
      }
      plan.schedule(list[i].id, tokens);
    }
    return undisturbed;
  }
};

/// Legal actions in no sensible order; always gives somebody tokens if vLLM would.
class Random final : public sdk::SchedulerPolicy {
 public:
  explicit Random(std::uint64_t seed) : draw_(seed) {}

  void schedule(Plan& plan) override {
    if (++calls_ > 3000) return be_orderly(plan);  // or somebody is preempted for ever
    const std::uint32_t before = plan.budget();
    if (draw_.chance(15)) admit_some(plan);
    switch (draw_.below(6)) {
      case 0:
      case 1: run_and_preempt_some(plan); break;
      case 2: serve_by_hand(plan, 100); break;
      case 3:
        serve_by_hand(plan, 30);
        run_and_preempt_some(plan);
        break;
      case 4:
        plan.schedule_running();
        serve_by_hand(plan, 50);
        break;
      default:
        if (draw_.chance(30)) preempt_one(plan);
        run_and_preempt_last(plan);
        if (draw_.chance(20)) preempt_one(plan);
        if (draw_.chance(50)) plan.schedule_running();
    }
    if (draw_.chance(80)) admit_some(plan);
    if (plan.budget() == before) be_orderly(plan);
  }

 private:
  /// Gives tokens to somebody if anybody can get any: whoever does not fit is passed over.
  static void be_orderly(Plan& plan) {
    run_and_preempt_last(plan);
    while (plan.budget() > 0 && plan.running_count() < plan.limits().max_num_seqs) {
      const RequestView* head = plan.next_waiting();
      if (head == nullptr) return;
      const RequestId id = head->id;
      if (try_admit(plan, *head, ~0U) == Admission::kStopped) plan.skip(id);
    }
  }

  void preempt_one(Plan& plan) {
    const std::vector<RequestView> running = running_views(plan);
    if (!running.empty()) plan.preempt(running[draw_.below(static_cast<std::uint32_t>(running.size()))].id);
  }

  void run_and_preempt_some(Plan& plan) {
    while (plan.schedule_running() == Plan::Stop::kNoBlocks) {
      const RequestId stopped = plan.stopped_at();
      if (draw_.chance(20)) return;
      if (draw_.chance(50)) {
        preempt_one(plan);
      } else {
        plan.preempt(draw_.chance(50) ? plan.last_running() : stopped);
      }
    }
  }

  void serve_by_hand(Plan& plan, std::uint32_t percent) {
    for (const RequestView& view : running_views(plan)) {
      if (plan.budget() == 0) return;
      if (!draw_.chance(percent) || draw_.chance(15) || plan.scheduled_now(view.id) > 0) continue;
      std::uint32_t tokens = std::min(view.remaining(), plan.budget());
      if (view.computed + 1 >= plan.limits().max_model_len) continue;
      tokens = std::min(tokens, plan.limits().max_model_len - 1 - view.computed);
      if (tokens == 0) continue;
      if (draw_.chance(20)) tokens = draw_.between(1, tokens);
      if (plan.try_allocate(view.id, tokens)) plan.schedule(view.id, tokens);
    }
  }

  void admit_some(Plan& plan) {
    std::vector<RequestId> waiting;
    if (draw_.chance(20)) {  // somebody from the middle of the queue
      plan.for_each_waiting([&](const RequestView& view) { waiting.push_back(view.id); });
      if (waiting.empty() || plan.budget() == 0 || plan.running_count() >= plan.limits().max_num_seqs) return;
      plan.next_waiting();  // nullptr if admissions are held back
      for (const RequestId id : waiting)
        if (draw_.chance(30)) plan.find_prefix(id);
      try_admit(plan, plan.view(waiting[draw_.below(static_cast<std::uint32_t>(waiting.size()))]), ~0U);
      return;
    }
    for (std::uint32_t i = draw_.below(5); i > 0; --i) {
      if (plan.budget() == 0 || plan.running_count() >= plan.limits().max_num_seqs) return;
      const RequestView* head = plan.next_waiting();
      if (head == nullptr) return;
      if (draw_.chance(10) && plan.running_count() > 0) {
        plan.skip(head->id);
        continue;
      }
      if (try_admit(plan, *head, draw_.chance(30) ? draw_.between(1, 20) : ~0U) == Admission::kStopped) return;
    }
  }

  Draw draw_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<sdk::SchedulerPolicy> make_test_policy(std::string_view name, std::uint64_t seed) {
  if (name == "capped") return std::make_unique<Capped>(1 + seed % 5, 1 + seed % 7);
  if (name == "by-hand") return std::make_unique<ByHand>();
  if (name == "random") return std::make_unique<Random>(seed);
  for (const sdk::PolicyEntry& entry : schedulers::builtin_policies())
    if (entry.name == name) return entry.create(sdk::default_options(entry.options));
  throw std::logic_error("no policy " + std::string(name));
}

}  // namespace dooly::test
