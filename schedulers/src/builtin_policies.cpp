#include "schedulers/builtin.hpp"

#include "static_batch.hpp"
#include "vllm_v1.hpp"

namespace dooly::schedulers {

std::span<const sdk::PolicyEntry> builtin_policies() {
  static constexpr sdk::PolicyEntry kPolicies[] = {
      {.name = "vllm-v1",
       .help = "vLLM's V1 scheduler: running requests first, chunked prefill, preemption by recompute",
       .create = sdk::create_policy<VllmV1>},
      {.name = "static",
       .help = "static batches as in FasterTransformer: nobody joins until the whole batch has finished",
       .options = StaticBatch::kOptions,
       .create = sdk::create_policy<StaticBatch>}};
  return kPolicies;
}

}  // namespace dooly::schedulers
