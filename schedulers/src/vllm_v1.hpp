#pragma once

#include "dooly/sdk/policy.hpp"

namespace dooly::schedulers {

/// vLLM V1's scheduler (0.26): running requests first in list order, then waiting ones from the head until one does not
/// fit; short of blocks, the last (or least urgent) running request is preempted. Source:
/// vllm/v1/core/sched/scheduler.py.
class VllmV1 final : public sdk::SchedulerPolicy {
 public:
  void schedule(sdk::Plan& plan) override;
  std::uint32_t horizon(const sdk::Plan& plan) const override;

 private:
  static bool run_running(sdk::Plan& plan);
  static sdk::RequestId victim(const sdk::Plan& plan);
  void admit_waiting(sdk::Plan& plan);

  bool out_of_blocks_ = false;  ///< the head of the queue did not fit in the last call
};

}  // namespace dooly::schedulers
