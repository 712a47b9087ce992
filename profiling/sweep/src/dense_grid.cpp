#include "profiling_sweep/dense_grid.hpp"

#include <algorithm>

namespace dooly::profiling {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// `first`, `first` + `step`, ... below `end`, none beyond `most`.
void add_stepped(Numbers& numbers, std::uint64_t first, std::uint64_t step, std::uint64_t end, std::uint64_t most) {
  for (std::uint64_t number = first; number < end && number <= most; number += step) numbers.push_back(number);
}

constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 40;

Numbers token_counts(std::uint64_t most) {
  Numbers numbers;
  for (const std::uint64_t tokens : {1u, 2u, 4u})
    if (tokens <= most) numbers.push_back(tokens);
  add_stepped(numbers, 8, 8, 1024, most);
  for (std::uint64_t first = 1024, step = 16; first <= most; first *= 2, step *= 2)
    add_stepped(numbers, first, step, 2 * first, most);
  return numbers;
}

Numbers cached_tokens(std::uint64_t most) {
  Numbers numbers;
  add_stepped(numbers, 0, 32, 1024, most);
  add_stepped(numbers, 1024, 64, 4096, most);
  add_stepped(numbers, 4096, 256, kNoEnd, most);
  return numbers;
}

Numbers chunk_sizes(std::uint64_t most) {
  Numbers numbers;
  add_stepped(numbers, 4, 8, 128, most);
  add_stepped(numbers, 128, 32, 1024, most);
  add_stepped(numbers, 1024, 64, 4096, most);
  add_stepped(numbers, 4096, 128, 16384, most);
  add_stepped(numbers, 16384, 256, kNoEnd, most);
  return numbers;
}

Numbers batch_sizes(std::uint64_t most) {
  Numbers numbers;
  add_stepped(numbers, 1, 1, 128, most);
  add_stepped(numbers, 128, 8, kNoEnd, most);
  return numbers;
}

std::vector<oracle::SamplePoint> attention_grid(const SweepLimits& limits) {
  std::vector<oracle::SamplePoint> points;
  const std::uint64_t most_query = std::min(limits.max_batched_tokens, limits.max_context);
  const Numbers cached = cached_tokens(limits.max_context - 1);
  for (const std::uint64_t query : chunk_sizes(most_query))
    for (const std::uint64_t context : cached)
      if (query + context <= limits.max_context) points.push_back({1, query, context});
  for (const std::uint64_t decodes : batch_sizes(limits.max_sequences))
    for (const std::uint64_t context : cached)
      if (context > 0 && decodes * context <= limits.max_kv_tokens) points.push_back({0, 0, 0, decodes, context});
  return points;
}

}  // namespace

std::vector<oracle::SamplePoint> dense_grid(const Operation& operation, const SweepLimits& limits) {
  if (operation.binding == oracle::Binding::kAttention) return attention_grid(limits);
  const bool by_sequences = operation.binding == oracle::Binding::kLogitsRows;
  std::vector<oracle::SamplePoint> points;
  for (const std::uint64_t rows : token_counts(by_sequences ? limits.max_sequences : limits.max_batched_tokens))
    points.push_back({rows});
  return points;
}

}  // namespace dooly::profiling
