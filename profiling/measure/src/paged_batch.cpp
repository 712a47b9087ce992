#include "paged_batch.hpp"

#include <algorithm>

namespace dooly::profiling {

namespace {

constexpr std::uint64_t kBlockTableWidth = 16;  // engines keep wide tables; a multiple of this keeps rows aligned

std::uint64_t blocks_of(const AttentionBatch::Request& request, std::uint64_t block_size) {
  return (request.query + request.context + block_size - 1) / block_size;
}

}  // namespace

std::uint64_t blocks_of(const AttentionBatch& batch, std::uint64_t block_size) {
  std::uint64_t blocks = 0;
  for (const auto& request : batch.requests) {
    blocks += blocks_of(request, block_size);
  }
  return blocks;
}

std::vector<std::int32_t> query_starts(const AttentionBatch& batch) {
  std::vector<std::int32_t> starts{0};
  for (const auto& request : batch.requests) starts.push_back(starts.back() + static_cast<std::int32_t>(request.query));
  return starts;
}

AttentionMetadata place(const AttentionBatch& batch, std::uint64_t block_size, const std::vector<std::int32_t>& free,
                        std::size_t& next, const Inputs& inputs) {
  const std::uint64_t longest = (batch.max_sequence + block_size - 1) / block_size;
  const std::uint64_t width = (longest + kBlockTableWidth - 1) / kBlockTableWidth * kBlockTableWidth;
  std::vector<std::int32_t> lengths, table(batch.requests.size() * width, 0);
  std::vector<std::int64_t> slots;
  for (std::size_t row = 0; row < batch.requests.size(); ++row) {
    const auto& request = batch.requests[row];
    const auto blocks = static_cast<std::ptrdiff_t>(blocks_of(request, block_size));
    const auto first = free.begin() + static_cast<std::ptrdiff_t>(next);
    std::copy(first, first + blocks, table.begin() + static_cast<std::ptrdiff_t>(row * width));
    next += static_cast<std::size_t>(blocks);
    for (std::uint64_t i = request.context; i < request.context + request.query; ++i) {
      const std::int64_t block = table[row * width + i / block_size];
      slots.push_back(block * static_cast<std::int64_t>(block_size) + static_cast<std::int64_t>(i % block_size));
    }
    lengths.push_back(static_cast<std::int32_t>(request.context + request.query));
  }
  AttentionMetadata metadata;
  metadata.query_start = inputs.integers(query_starts(batch));
  metadata.sequence_lengths = inputs.integers(lengths);
  metadata.block_table = inputs.integers(table).view({static_cast<std::int64_t>(lengths.size()), -1});
  metadata.slot_mapping = inputs.integers(slots);
  metadata.max_query = static_cast<std::int64_t>(batch.max_query);
  metadata.max_sequence = static_cast<std::int64_t>(batch.max_sequence);
  return metadata;
}

double tokens_read(const AttentionBatch& batch, std::int64_t window) {
  double tokens = 0;
  for (const auto& request : batch.requests) {
    const auto all = static_cast<double>(request.query + request.context);
    tokens += window == 0 ? all : std::min(all, static_cast<double>(window) + static_cast<double>(request.query));
  }
  return tokens;
}

}  // namespace dooly::profiling
