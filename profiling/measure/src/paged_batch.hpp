#pragma once

#include "profiling_kernels/attention_metadata.hpp"
#include "profiling_measure/attention_batch.hpp"
#include "profiling_measure/inputs.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// Blocks of a paged cache that hold a batch.
std::uint64_t blocks_of(const AttentionBatch& batch, std::uint64_t block_size);

/// Where a batch's tokens lie. Takes its blocks from `free`, from `next` on.
AttentionMetadata place(const AttentionBatch& batch, std::uint64_t block_size, const std::vector<std::int32_t>& free,
                        std::size_t& next, const Inputs& inputs);

/// First token of each request, and behind the last.
std::vector<std::int32_t> query_starts(const AttentionBatch& batch);

/// Tokens of the cache that a step reads at most; a window hides the rest.
double tokens_read(const AttentionBatch& batch, std::int64_t window);

}  // namespace dooly::profiling
