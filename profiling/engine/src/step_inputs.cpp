#include "profiling_engine/step_inputs.hpp"

#include "profiling_engine/upload.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dooly::profiling {

namespace {

/// What fills a batch up has one token each.
std::vector<LatentRequest> latent_requests(std::span<const StepSequence> sequences, const StepSettings& settings) {
  std::vector<LatentRequest> requests;
  std::int64_t tokens = 0;
  for (const StepSequence& sequence : sequences) {
    requests.push_back({static_cast<std::int64_t>(sequence.tokens.size()), sequence.computed});
    tokens += requests.back().query;
  }
  for (; tokens < settings.padded_tokens; ++tokens) requests.push_back({1, 0});
  return requests;
}

class Layout {
 public:
  Layout(std::span<const StepSequence> sequences, const StepSettings& settings, const StepSizes& sizes)
      : sequences_(sequences),
        order_(batch_order(sequences, settings)),
        settings_(settings),
        sizes_(sizes),
        last_tokens_(sequences.size()) {
    for (const std::size_t place : order_) {
      add(sequences[place]);
      last_tokens_[place] = static_cast<std::int64_t>(ids_.size()) - 1;
    }
    const auto tokens = static_cast<std::int64_t>(ids_.size());
    if (settings.padded_tokens > tokens) pad(settings.padded_tokens - tokens);
  }

  StepInputs inputs() const {
    StepInputs inputs;
    inputs.ids = upload(ids_, {sizes_.tokens}, settings_.device);
    inputs.positions = upload(positions_, {sizes_.tokens}, settings_.device);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < sequences_.size(); ++i)
      if (sequences_[i].samples) rows.push_back(last_tokens_[i]);
    inputs.rows = upload(rows, {sizes_.rows}, settings_.device);
    for (std::size_t group = 0; group < settings_.groups; ++group) inputs.groups.push_back(metadata(group));
    if (settings_.latent) inputs.latent = latent(inputs.groups.front());
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

  AttentionMetadata metadata(std::size_t group) const {
    AttentionMetadata metadata;
    metadata.query_start = upload(starts_, {sizes_.requests + 1}, settings_.device);
    metadata.sequence_lengths = upload(lengths_, {sizes_.requests}, settings_.device);
    std::size_t columns = 1;
    for (const StepSequence& sequence : sequences_) columns = std::max(columns, sequence.blocks[group].size());
    std::vector<std::int32_t> table(lengths_.size() * columns, 0);
    std::vector<std::int64_t> slots(ids_.size(), 0);  // of padding: the null block
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::vector<std::uint32_t>& blocks = sequences_[order_[i]].blocks[group];
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

  LatentBatch latent(const AttentionMetadata& whole) const {
    const LatentLayout layout(latent_requests(sequences_, settings_), *settings_.latent);
    const PutIntegers put = [this](const std::vector<std::int32_t>& values, c10::SymIntArrayRef shape) {
      return upload(values, shape, settings_.device);
    };
    return make_latent_batch(layout, sizes_.latent, whole, starts_, put);
  }

  std::span<const StepSequence> sequences_;
  std::vector<std::size_t> order_;  ///< in which they lie
  const StepSettings& settings_;
  const StepSizes& sizes_;
  std::vector<std::int64_t> ids_, positions_;
  std::vector<std::int64_t> last_tokens_;  ///< of each sequence
  std::vector<std::int32_t> starts_{0}, lengths_;
  std::int64_t max_query_ = 0, max_length_ = 0;
};

}  // namespace

std::vector<std::size_t> batch_order(std::span<const StepSequence> sequences, const StepSettings& settings) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!settings.latent) return order;
  order = LatentLayout(latent_requests(sequences, settings), *settings.latent).order;
  std::erase_if(order, [&](std::size_t place) { return place >= sequences.size(); });
  return order;
}

StepSizes sizes_of(std::span<const StepSequence> sequences, const StepSettings& settings) {
  StepSizes sizes;
  std::int64_t tokens = 0, rows = 0;
  std::vector<std::size_t> blocks;
  for (const StepSequence& sequence : sequences) {
    tokens += static_cast<std::int64_t>(sequence.tokens.size());
    rows += sequence.samples ? 1 : 0;
    blocks.resize(std::max(blocks.size(), sequence.blocks.size()), 1);
    for (std::size_t i = 0; i < sequence.blocks.size(); ++i) blocks[i] = std::max(blocks[i], sequence.blocks[i].size());
  }
  sizes.rows = rows;
  for (const std::size_t columns : blocks) sizes.blocks.emplace_back(static_cast<std::int64_t>(columns));
  const std::int64_t more = std::max<std::int64_t>(0, settings.padded_tokens - tokens);
  sizes.tokens = tokens + more;
  sizes.requests = static_cast<std::int64_t>(sequences.size()) + more;
  if (!settings.latent) return sizes;
  const std::vector<LatentRequest> requests = latent_requests(sequences, settings);
  sizes.latent = sizes_of(LatentLayout(requests, *settings.latent), requests.size());
  return sizes;
}

StepInputs make_step_inputs(std::span<const StepSequence> sequences, const StepSettings& settings,
                            const std::optional<StepSizes>& sizes) {
  const StepSizes shapes = sizes ? *sizes : sizes_of(sequences, settings);
  return Layout(sequences, settings, shapes).inputs();
}

}  // namespace dooly::profiling
