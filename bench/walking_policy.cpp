// First come, first served, but it looks at every running request in every iteration: what a policy costs that keeps no
// state of its own. Row plugin-walks-running of bench/rows.tsv.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dooly/sdk/plugin.hpp"

namespace {

using dooly::sdk::Plan;
using dooly::sdk::PrefixHit;
using dooly::sdk::RequestId;
using dooly::sdk::RequestView;

class WalkingPolicy final : public dooly::sdk::SchedulerPolicy {
 public:
  void schedule(Plan& plan) override {
    look_at_running(plan);
    if (serve_running(plan)) admit_waiting(plan);
  }

 private:
  void look_at_running(const Plan& plan) {
    std::array<RequestView, 128> views;
    std::size_t cursor = 0;
    longest_ = 0;
    while (const std::size_t count = plan.read_running(cursor, views)) {
      for (std::size_t i = 0; i < count; ++i) longest_ = std::max(longest_, views[i].computed);
    }
  }

  /// True if everything that runs got its tokens and nothing had to be preempted for it.
  static bool serve_running(Plan& plan) {
    bool preempted = false;
    for (;;) {
      const Plan::Stop stop = plan.schedule_running();
      if (stop != Plan::Stop::kNoBlocks) return stop == Plan::Stop::kDone && !preempted;
      const RequestId victim = plan.last_running();
      const bool was_next = victim == plan.stopped_at();
      plan.preempt(victim);
      preempted = true;
      if (was_next) return false;
    }
  }

  static void admit_waiting(Plan& plan) {
    while (plan.budget() > 0 && plan.running_count() < plan.limits().max_num_seqs) {
      const RequestView* next = plan.next_waiting();
      if (next == nullptr) return;
      const RequestView request = *next;  // the pointer ends with the next action
      const PrefixHit hit = plan.find_prefix(request.id);
      const std::uint32_t tokens = std::min(request.remaining() - hit.tokens(), plan.budget());
      if (!plan.try_allocate(request.id, tokens)) return;
      plan.admit(request.id, tokens);
    }
  }

  std::uint32_t longest_ = 0;
};

constexpr std::array kPolicies{dooly::sdk::PolicyEntry{.name = "walking",
                                                       .help = "first come, first served, walking the running list",
                                                       .create = &dooly::sdk::create_policy<WalkingPolicy>}};

}  // namespace

DOOLY_PLUGIN("walking", "1.0", .policies = kPolicies);
