#include "profiling_kernels/latent_kernels.hpp"

#include "profiling_kernels/module_scope.hpp"

#include <ATen/ops/empty_like.h>

#include <utility>

namespace dooly::profiling {

namespace {

/// Over all pieces of the contexts.
PartialAttention attend_contexts(LatentKernels& kernels, const at::Tensor& q, const at::Tensor& cache,
                                 const LatentBatch& batch, const LatentShape& shape, const ExpandRows& expand) {
  PartialAttention all;
  for (const LatentContext& context : batch.contexts) {
    const ModuleScope scope("context", kLatentPart);
    PartialAttention part = kernels.attend_expanded(q, expand(kernels.gather(cache, batch.prompts, context)),
                                                    context.keys, shape, /*causal=*/false);
    if (context.some_are_empty) kernels.ignore_empty(part, context.keys);
    if (!all.out.defined()) {
      all = std::move(part);
      continue;
    }
    PartialAttention merged{at::empty_like(all.out), at::empty_like(all.lse)};
    kernels.merge(merged.out, merged.lse, all, part, batch.prompt_tokens);
    all = std::move(merged);
  }
  return all;
}

}  // namespace

void attend_prompts(LatentKernels& kernels, at::Tensor& out, const at::Tensor& q, const ExpandedKeys& own,
                    const at::Tensor& cache, const LatentBatch& batch, const LatentShape& shape,
                    const ExpandRows& expand) {
  const PartialAttention last = kernels.attend_expanded(q, own, batch.own, shape, /*causal=*/true);
  if (batch.contexts.empty()) {
    const ModuleScope scope("copy", kLatentPart);
    out.copy_(last.out);
    return;
  }
  const PartialAttention earlier = attend_contexts(kernels, q, cache, batch, shape, expand);
  const ModuleScope scope("merge", kLatentPart);
  kernels.merge(out, {}, earlier, last, batch.context_queries);
}

}  // namespace dooly::profiling
