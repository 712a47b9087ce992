#pragma once

#include "profiling_kernels/attention_metadata.hpp"

#include <c10/core/SymInt.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dooly::profiling {

/// Whose keys each prompt's queries attend to.
struct PromptKeys {
  at::Tensor query_start;  ///< int32 [prompts + 1]
  at::Tensor key_start;    ///< int32 [prompts + 1]
  std::int64_t max_query = 0, max_key = 0;
};

/// A part of the prompts' contexts that is expanded at once.
struct LatentContext {
  PromptKeys keys;
  at::Tensor first;      ///< int32 [prompts]: where in its sequence each prompt's part begins
  at::Tensor prompt_of;  ///< int32 [tokens]
  bool some_are_empty = false;
};

/// A step as latent attention sees it. Requests lie in the batch in the order of LatentLayout: those that run in the
/// latent, then prompts.
struct LatentBatch {
  c10::SymInt tokens = 0, decode_tokens = 0, prompt_tokens = 0;
  AttentionMetadata decodes;  ///< of the first `decode_tokens` tokens
  AttentionMetadata prompts;  ///< of the others, counted from 0; without slots
  PromptKeys own;             ///< of the prompts' new tokens
  std::vector<LatentContext> contexts;
  c10::SymInt context_queries = 0;  ///< tokens of prompts that have a context; they come first
};

/// One request's part of a step.
struct LatentRequest {
  std::int64_t query = 1, context = 0;
};

/// What decides how a step is cut.
struct LatentRules {
  std::int64_t longest_absorbed = 1;  ///< oracle::longest_absorbed() of the kernels' family
  std::int64_t block_size = 16;
  /// Tokens of contexts that are expanded at once: vLLM's workspace, which holds 64 Ki tokens unless eight of the
  /// model's longest sequences are fewer.
  std::int64_t workspace_tokens = std::int64_t{64} << 10;
};

/// How a step is cut, as vLLM 0.26 does it (gpu_model_runner and mla_attention.py): requests that have a context and a
/// short query come first, then those with a context, then those without; up to the first long query all run in the
/// latent.
struct LatentLayout {
  LatentLayout(std::span<const LatentRequest> requests, const LatentRules& rules);

  struct Context {
    std::vector<std::int32_t> first, count;  ///< of each prompt
    std::int64_t tokens = 0, longest = 0;
  };
  std::vector<std::size_t> order;  ///< places of requests as given
  std::size_t decodes = 0;         ///< requests in the latent
  std::int64_t decode_tokens = 0, prompt_tokens = 0, context_queries = 0;
  std::int64_t longest_decode = 0, longest_prompt = 0;
  std::vector<Context> contexts;
};

/// Sizes of the tensors of a LatentBatch, for those who want to know where they came from.
struct LatentSizes {
  c10::SymInt tokens = 0, decodes = 0, decode_tokens = 0, prompts = 0, prompt_tokens = 0, context_queries = 0;
  std::vector<c10::SymInt> context_tokens;
};
LatentSizes sizes_of(const LatentLayout& layout, std::size_t requests);

/// Puts integers where the kernels run.
using PutIntegers = std::function<at::Tensor(const std::vector<std::int32_t>& values, c10::SymIntArrayRef shape)>;

/// The batch whose requests lie as `layout` orders them; `whole` and `query_start` describe it.
LatentBatch make_latent_batch(const LatentLayout& layout, const LatentSizes& sizes, const AttentionMetadata& whole,
                              const std::vector<std::int32_t>& query_start, const PutIntegers& put);

}  // namespace dooly::profiling
