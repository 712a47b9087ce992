#include "graph_inputs.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace dooly::profiling {

GraphInputs::GraphInputs(const Model& model, const StepSettings& settings, std::int64_t most)
    : most_(most),
      groups_(settings.groups),
      block_size_(settings.block_size),
      positions_(model.dims().positions.guard_int(__FILE__, __LINE__)),
      half_words_((most + 2) / 2),
      is_latent_(settings.latent.has_value()),
      device_(settings.device) {
  const auto options = at::TensorOptions().device(device_);
  words_ = at::zeros({half_offset(groups_, kLengths)}, options.dtype(at::kLong));
  const std::int64_t columns = (positions_ + block_size_ - 1) / block_size_;
  for (std::int64_t group = 0; group < groups_; ++group) {
    tables_.push_back(at::zeros({most, columns}, options.dtype(at::kInt)));
  }
}

at::Tensor GraphInputs::ints(std::int64_t group, Half half, std::int64_t count) const {
  return words_.narrow(0, half_offset(group, half), half_words_).view(at::kInt).narrow(0, 0, count);
}

StepInputs GraphInputs::view(std::int64_t requests) const {
  StepInputs inputs;
  inputs.ids = longs(kIds, requests);
  inputs.positions = longs(kPositions, requests);
  for (std::int64_t group = 0; group < groups_; ++group) {
    AttentionMetadata metadata;
    metadata.query_start = ints(group, kStarts, requests + 1);
    metadata.sequence_lengths = ints(group, kLengths, requests);
    metadata.block_table = tables_[static_cast<std::size_t>(group)].narrow(0, 0, requests);
    metadata.slot_mapping = words_.narrow(0, slots_offset(group), requests);
    metadata.max_query = 1;
    metadata.max_sequence = positions_;  // a graph serves all lengths
    inputs.groups.push_back(std::move(metadata));
  }
  if (is_latent_) {
    inputs.latent.emplace();
    inputs.latent->tokens = inputs.latent->decode_tokens = requests;
    inputs.latent->decodes = inputs.groups.front();
  }
  return inputs;
}

void GraphInputs::write(const std::vector<ScheduledPart>& parts, std::int64_t padded) {
  const at::Tensor host = at::zeros(words_.sizes(), at::TensorOptions().dtype(at::kLong).pinned_memory(true));
  auto* words = host.mutable_data_ptr<std::int64_t>();
  const auto at = [&](Region region) { return words + region * most_; };
  rows_ = pending_ = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const StepSequence& sequence = parts[i].sequence;
    TORCH_CHECK(sequence.tokens.size() == 1, "a captured step computes one token a request, not ",
                sequence.tokens.size());
    at(kIds)[i] = sequence.tokens.front();
    at(kPositions)[i] = sequence.computed;
    if (sequence.samples) {
      at(kRows)[rows_] = static_cast<std::int64_t>(i);
      at(kTags)[rows_++] = parts[i].tag;
    }
    if (parts[i].last_is_pending) {
      at(kPlaces)[pending_] = static_cast<std::int64_t>(i);
      at(kFrom)[pending_++] = parts[i].tag;
    }
  }
  for (std::int64_t group = 0; group < groups_; ++group) write_group(parts, padded, group, words);
  words_.copy_(host, /*non_blocking=*/true);
  for (std::int64_t group = 0; group < groups_; ++group) write_table(parts, group);
}

void GraphInputs::write_group(const std::vector<ScheduledPart>& parts, std::int64_t padded, std::int64_t group,
                              std::int64_t* words) const {
  std::int64_t* slots = words + slots_offset(group);
  auto* lengths = reinterpret_cast<std::int32_t*>(words + half_offset(group, kLengths));
  auto* starts = reinterpret_cast<std::int32_t*>(words + half_offset(group, kStarts));
  const auto count = static_cast<std::int64_t>(parts.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const StepSequence& sequence = parts[static_cast<std::size_t>(i)].sequence;
    const std::vector<std::uint32_t>& blocks = sequence.blocks.at(static_cast<std::size_t>(group));
    const std::int64_t position = sequence.computed;
    slots[i] = std::int64_t{blocks.at(static_cast<std::size_t>(position / block_size_))} * block_size_ +
               position % block_size_;
    lengths[i] = static_cast<std::int32_t>(position + 1);
    starts[i] = static_cast<std::int32_t>(i);
  }
  std::fill(slots + count, slots + padded, -1);
  std::fill(starts + count, starts + padded + 1, static_cast<std::int32_t>(count));
}

void GraphInputs::write_table(const std::vector<ScheduledPart>& parts, std::int64_t group) {
  const auto which = static_cast<std::size_t>(group);
  std::size_t columns = 1;
  for (const ScheduledPart& part : parts) columns = std::max(columns, part.sequence.blocks[which].size());
  const auto count = static_cast<std::int64_t>(parts.size()), width = static_cast<std::int64_t>(columns);
  const at::Tensor host = at::zeros({count, width}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
  auto* row = host.mutable_data_ptr<std::int32_t>();
  for (const ScheduledPart& part : parts) {
    std::copy(part.sequence.blocks[which].begin(), part.sequence.blocks[which].end(), row);
    row += width;
  }
  tables_[which].narrow(0, 0, count).narrow(1, 0, width).copy_(host, /*non_blocking=*/true);
}

}  // namespace dooly::profiling
