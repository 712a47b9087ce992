#include "profiling_engine/step_inputs.hpp"

#include "profiling_engine/upload.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::profiling {

namespace {

class Layout {
 public:
  Layout(std::span<const StepSequence> sequences, const StepSettings& settings, const StepSizes& sizes)
      : settings_(settings),
        sizes_(sizes) {
    for (const StepSequence& sequence : sequences) add(sequence);
    const auto tokens = static_cast<std::int64_t>(ids_.size());
    if (settings.padded_tokens > tokens) pad(settings.padded_tokens - tokens);
  }

  StepInputs inputs(std::span<const StepSequence> sequences) const {
    StepInputs inputs;
    inputs.ids = upload(ids_, {sizes_.tokens}, settings_.device);
    inputs.positions = upload(positions_, {sizes_.tokens}, settings_.device);
    inputs.rows = upload(rows_, {sizes_.rows}, settings_.device);
    for (std::size_t group = 0; group < settings_.groups; ++group) inputs.groups.push_back(metadata(sequences, group));
    return inputs;
  }

 private:
  void add(const StepSequence& sequence) {
    if (sequence.tokens.empty() || sequence.blocks.size() != settings_.groups) {
      throw ProfilingError(fmt::format("a step's sequence has {} tokens and {} block tables; needed: at least one, {}",
                                       sequence.tokens.size(), sequence.blocks.size(), settings_.groups));
    }
    ids_.insert(ids_.end(), sequence.tokens.begin(), sequence.tokens.end());
    const auto count = static_cast<std::int64_t>(sequence.tokens.size());
    for (std::int64_t i = 0; i < count; ++i) positions_.push_back(sequence.computed + i);
    if (sequence.samples) rows_.push_back(static_cast<std::int64_t>(ids_.size()) - 1);
    close(sequence.computed + count, count);
  }

  void close(std::int64_t length, std::int64_t queries) {
    starts_.push_back(static_cast<std::int32_t>(ids_.size()));
    lengths_.push_back(static_cast<std::int32_t>(length));
    max_query_ = std::max(max_query_, queries);
    max_length_ = std::max(max_length_, length);
  }

  void pad(std::int64_t tokens) {
    for (; tokens > 0; --tokens) {
      ids_.push_back(0);
      positions_.push_back(0);
      close(1, 1);
    }
  }

  AttentionMetadata metadata(std::span<const StepSequence> sequences, std::size_t group) const {
    AttentionMetadata metadata;
    metadata.query_start = upload(starts_, {sizes_.requests + 1}, settings_.device);
    metadata.sequence_lengths = upload(lengths_, {sizes_.requests}, settings_.device);
    std::size_t columns = 1;
    for (const StepSequence& sequence : sequences) columns = std::max(columns, sequence.blocks[group].size());
    std::vector<std::int32_t> table(lengths_.size() * columns, 0);
    std::vector<std::int64_t> slots(ids_.size(), 0);  // of padding: the null block
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::vector<std::uint32_t>& blocks = sequences[i].blocks[group];
      std::copy(blocks.begin(), blocks.end(), table.begin() + static_cast<std::ptrdiff_t>(i * columns));
      for (auto token = starts_[i]; token < starts_[i + 1]; ++token) {
        const auto at = static_cast<std::size_t>(token);
        const std::int64_t position = positions_[at], size = settings_.block_size;
        slots[at] = std::int64_t{blocks.at(static_cast<std::size_t>(position / size))} * size + position % size;
      }
    }
    metadata.block_table = upload(table, {sizes_.requests, sizes_.blocks[group]}, settings_.device);
    metadata.slot_mapping = upload(slots, {sizes_.tokens}, settings_.device);
    metadata.max_query = max_query_;
    metadata.max_sequence = max_length_;
    return metadata;
  }

  const StepSettings& settings_;
  const StepSizes& sizes_;
  std::vector<std::int64_t> ids_, positions_, rows_;
  std::vector<std::int32_t> starts_{0}, lengths_;
  std::int64_t max_query_ = 0, max_length_ = 0;
};

}  // namespace

StepSizes sizes_of(std::span<const StepSequence> sequences) {
  StepSizes sizes;
  std::int64_t tokens = 0, rows = 0;
  std::vector<std::size_t> blocks;
  for (const StepSequence& sequence : sequences) {
    tokens += static_cast<std::int64_t>(sequence.tokens.size());
    rows += sequence.samples ? 1 : 0;
    blocks.resize(std::max(blocks.size(), sequence.blocks.size()), 1);
    for (std::size_t i = 0; i < sequence.blocks.size(); ++i) blocks[i] = std::max(blocks[i], sequence.blocks[i].size());
  }
  sizes.tokens = tokens;
  sizes.rows = rows;
  sizes.requests = static_cast<std::int64_t>(sequences.size());
  for (const std::size_t columns : blocks) sizes.blocks.emplace_back(static_cast<std::int64_t>(columns));
  return sizes;
}

StepInputs make_step_inputs(std::span<const StepSequence> sequences, const StepSettings& settings,
                            const std::optional<StepSizes>& sizes) {
  StepSizes shapes = sizes ? *sizes : sizes_of(sequences);
  if (!sizes && settings.padded_tokens > 0) {
    const std::int64_t tokens = shapes.tokens.expect_int(), requests = shapes.requests.expect_int();
    const std::int64_t more = std::max<std::int64_t>(0, settings.padded_tokens - tokens);
    shapes.tokens = tokens + more;
    shapes.requests = requests + more;
  }
  return Layout(sequences, settings, shapes).inputs(sequences);
}

}  // namespace dooly::profiling
