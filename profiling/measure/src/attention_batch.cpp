#include "profiling_measure/attention_batch.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::profiling {

namespace {

/// Whether the i-th of `all` is one of `chosen` that are spread evenly.
bool is_chosen(std::uint64_t i, std::uint64_t chosen, std::uint64_t all) {
  return (i + 1) * chosen / all != i * chosen / all;
}

void add(AttentionBatch& batch, std::uint64_t query, std::uint64_t context) {
  batch.requests.push_back({query, context});
  batch.tokens += query;
  batch.cached += query + context;
  batch.max_query = std::max(batch.max_query, query);
  batch.max_sequence = std::max(batch.max_sequence, query + context);
}

}  // namespace

AttentionBatch attention_batch(const oracle::SamplePoint& point) {
  const auto [prefills, query, prefill_context, decodes, context, long_decodes, long_context] = point;
  if (long_decodes > decodes) {
    throw ProfilingError(fmt::format("attention point: {} long decodes of {}", long_decodes, decodes));
  }
  if (decodes == 0 && (prefills == 0 || query == 0)) {
    throw ProfilingError("attention point: neither decodes nor prefills");
  }
  AttentionBatch batch;
  for (std::uint64_t i = 0; i < decodes; ++i) {
    add(batch, 1, is_chosen(i, long_decodes, decodes) ? long_context : context);
  }
  for (std::uint64_t i = 0; i < prefills && query > 0; ++i) {
    add(batch, query, prefill_context);
  }
  return batch;
}

}  // namespace dooly::profiling
