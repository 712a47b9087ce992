#include "profiling_kernels/latent_batch.hpp"

#include <ATen/ops/narrow.h>

#include <algorithm>
#include <numeric>

namespace dooly::profiling {

namespace {

/// Where vLLM puts a request.
int region_of(const LatentRequest& request, const LatentRules& rules) {
  if (request.context == 0) return 2;
  return request.query > rules.longest_absorbed ? 1 : 0;
}

std::vector<std::int32_t> starts_of(const std::vector<std::int32_t>& counts) {
  std::vector<std::int32_t> starts{0};
  for (const std::int32_t count : counts) starts.push_back(starts.back() + count);
  return starts;
}

/// Pieces of equal length, so that those of all prompts with a context fill the workspace.
std::vector<LatentLayout::Context> contexts_of(const std::vector<std::int64_t>& lengths, const LatentRules& rules) {
  const auto with_context = std::count_if(lengths.begin(), lengths.end(), [](auto length) { return length > 0; });
  if (with_context == 0) return {};
  const std::int64_t share = rules.workspace_tokens / with_context;
  const std::int64_t piece = std::max(rules.block_size, share / rules.block_size * rules.block_size);
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<LatentLayout::Context> contexts;
  for (std::int64_t first = 0; first < longest; first += piece) {
    LatentLayout::Context& context = contexts.emplace_back();
    for (const std::int64_t length : lengths) {
      const std::int64_t count = std::clamp<std::int64_t>(length - first, 0, piece);
      context.first.push_back(static_cast<std::int32_t>(first));
      context.count.push_back(static_cast<std::int32_t>(count));
      context.tokens += count;
      context.longest = std::max(context.longest, count);
    }
  }
  return contexts;
}

}  // namespace

LatentLayout::LatentLayout(std::span<const LatentRequest> requests, const LatentRules& rules) : order(requests.size()) {
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return region_of(requests[a], rules) < region_of(requests[b], rules);
  });
  while (decodes < order.size() && requests[order[decodes]].query <= rules.longest_absorbed) {
    const std::int64_t query = requests[order[decodes++]].query;
    decode_tokens += query;
    longest_decode = std::max(longest_decode, query);
  }
  std::vector<std::int64_t> lengths;
  for (std::size_t i = decodes; i < order.size(); ++i) {
    const LatentRequest& request = requests[order[i]];
    prompt_tokens += request.query;
    longest_prompt = std::max(longest_prompt, request.query);
    if (request.context > 0) context_queries += request.query;
    lengths.push_back(request.context);
  }
  contexts = contexts_of(lengths, rules);
}

LatentSizes sizes_of(const LatentLayout& layout, std::size_t requests) {
  LatentSizes sizes;
  sizes.tokens = layout.decode_tokens + layout.prompt_tokens;
  sizes.decodes = static_cast<std::int64_t>(layout.decodes);
  sizes.prompts = static_cast<std::int64_t>(requests - layout.decodes);
  sizes.decode_tokens = layout.decode_tokens;
  sizes.prompt_tokens = layout.prompt_tokens;
  sizes.context_queries = layout.context_queries;
  for (const LatentLayout::Context& context : layout.contexts) sizes.context_tokens.emplace_back(context.tokens);
  return sizes;
}

namespace {

LatentContext make_context(const LatentLayout::Context& layout, const c10::SymInt& tokens, const LatentSizes& sizes,
                           const PromptKeys& own, const PutIntegers& put) {
  LatentContext context;
  context.keys = own;
  context.keys.key_start = put(starts_of(layout.count), {sizes.prompts + 1});
  context.keys.max_key = layout.longest;
  context.first = put(layout.first, {sizes.prompts});
  std::vector<std::int32_t> prompt_of;
  for (std::size_t i = 0; i < layout.count.size(); ++i)
    prompt_of.insert(prompt_of.end(), static_cast<std::size_t>(layout.count[i]), static_cast<std::int32_t>(i));
  context.prompt_of = put(prompt_of, {tokens});
  context.some_are_empty = std::count(layout.count.begin(), layout.count.end(), 0) > 0;
  return context;
}

}  // namespace

LatentBatch make_latent_batch(const LatentLayout& layout, const LatentSizes& sizes, const AttentionMetadata& whole,
                              const std::vector<std::int32_t>& query_start, const PutIntegers& put) {
  LatentBatch batch;
  batch.tokens = sizes.tokens;
  batch.decode_tokens = sizes.decode_tokens;
  batch.prompt_tokens = sizes.prompt_tokens;
  batch.context_queries = sizes.context_queries;
  if (layout.decodes > 0) {
    AttentionMetadata& decodes = batch.decodes;
    decodes.query_start = at::narrow_symint(whole.query_start, 0, 0, sizes.decodes + 1);
    decodes.sequence_lengths = at::narrow_symint(whole.sequence_lengths, 0, 0, sizes.decodes);
    decodes.block_table = at::narrow_symint(whole.block_table, 0, 0, sizes.decodes);
    decodes.slot_mapping = at::narrow_symint(whole.slot_mapping, 0, 0, sizes.decode_tokens);
    decodes.max_query = layout.longest_decode;
    decodes.max_sequence = whole.max_sequence;
  }
  if (layout.prompt_tokens == 0) return batch;
  AttentionMetadata& prompts = batch.prompts;
  std::vector<std::int32_t> starts(query_start.begin() + static_cast<std::ptrdiff_t>(layout.decodes),
                                   query_start.end());
  for (std::int32_t& start : starts) start -= static_cast<std::int32_t>(layout.decode_tokens);
  prompts.query_start = put(starts, {sizes.prompts + 1});
  prompts.sequence_lengths = at::narrow_symint(whole.sequence_lengths, 0, sizes.decodes, sizes.prompts);
  prompts.block_table = at::narrow_symint(whole.block_table, 0, sizes.decodes, sizes.prompts);
  prompts.max_query = layout.longest_prompt;
  prompts.max_sequence = whole.max_sequence;
  batch.own = {prompts.query_start, prompts.query_start, layout.longest_prompt, layout.longest_prompt};
  for (std::size_t i = 0; i < layout.contexts.size(); ++i)
    batch.contexts.push_back(make_context(layout.contexts[i], sizes.context_tokens.at(i), sizes, batch.own, put));
  return batch;
}

}  // namespace dooly::profiling
