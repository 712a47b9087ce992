#include "profiling_engine/step_runner.hpp"

#include "profiling_engine/upload.hpp"
#include "step_graphs.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace dooly::profiling {

namespace {

/// Token ids of a batch that are still on the device: places in the batch and whose they are.
struct Pending {
  std::vector<std::int64_t> places, tags;
};

Pending pending_tokens(const std::vector<ScheduledPart>& parts, const std::vector<std::size_t>& order) {
  Pending pending;
  std::int64_t end = 0;
  for (const std::size_t place : order) {
    const ScheduledPart& part = parts[place];
    end += static_cast<std::int64_t>(part.sequence.tokens.size());
    if (!part.last_is_pending) continue;
    pending.places.push_back(end - 1);
    pending.tags.push_back(part.tag);
  }
  return pending;
}

}  // namespace

StepRunner::StepRunner(const Model& model, std::uint32_t max_tags, const std::vector<std::uint32_t>& sizes,
                       bool captures, std::uint32_t max_requests)
    : model_(model),
      graphs_(sizes),
      cache_(model.make_cache()) {
  settings_.block_size = static_cast<std::uint32_t>(model.dims().block_size.guard_int(__FILE__, __LINE__));
  settings_.device = model.device();
  settings_.groups = model.cache_groups();
  settings_.latent = model.latent_rules();
  lane_ = make_device_lane(settings_.device);
  last_ = std::make_unique<LastTokens>(max_tags, settings_.device);
  if (!captures) return;
  std::vector<std::uint32_t> needed = sizes;
  std::erase_if(needed, [&](std::uint32_t size) { return size > graphs_.padded(max_requests); });
  captured_ = std::make_unique<StepGraphs>(model_, cache_, settings_, needed);
}

StepRunner::~StepRunner() = default;

namespace {

/// Has LibTorch cache pinned memory for the inputs of a few steps: asking the driver for more waits for the device.
void reserve_pinned() {
  constexpr std::int64_t kSmallest = 8, kSmall = std::int64_t{64} << 10, kLargest = std::int64_t{4} << 20;
  constexpr int kMany = 32, kFew = 6;
  std::vector<at::Tensor> held;
  for (std::int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2)
    for (int i = 0; i < (bytes <= kSmall ? kMany : kFew); ++i)
      held.push_back(at::empty({bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true)));
}

}  // namespace

void StepRunner::warm_up(std::uint32_t tokens, std::uint32_t requests) {
  if (settings_.device.is_cuda()) reserve_pinned();
  const auto smaller = [](std::uint32_t count) { return std::max<std::uint32_t>(1, count / 4 * 3 + count % 4 / 2); };
  while (true) {
    for (int i = 0; i < 2; ++i) submit(null_parts(tokens, std::min(requests, tokens)));
    for (int i = 0; i < 2; ++i) (void)lane_->collect();
    if (tokens == 1) return;
    tokens = smaller(tokens);
    requests = smaller(requests);
  }
}

/// `tokens` of `requests`, all in the null block.
std::vector<ScheduledPart> StepRunner::null_parts(std::uint32_t tokens, std::uint32_t requests) const {
  const auto positions = static_cast<std::uint32_t>(model_.dims().positions.guard_int(__FILE__, __LINE__));
  std::vector<ScheduledPart> parts(std::max<std::uint32_t>(1, requests));
  const auto count = static_cast<std::uint32_t>(parts.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t share = tokens / count + (i < tokens % count ? 1 : 0);
    parts[i].tag = i;
    parts[i].sequence.tokens.assign(std::min(share, positions), 0);
    const std::size_t blocks = parts[i].sequence.tokens.size() / settings_.block_size + 1;
    parts[i].sequence.blocks.assign(settings_.groups, std::vector<std::uint32_t>(blocks, 0));
  }
  return parts;
}

LaunchedStep StepRunner::launch_of(const std::vector<ScheduledPart>& parts) const {
  std::size_t tokens = 0;
  bool one_each = true;
  for (const ScheduledPart& part : parts) {
    tokens += part.sequence.tokens.size();
    one_each = one_each && part.sequence.tokens.size() == 1;
  }
  LaunchedStep launch{static_cast<std::uint32_t>(tokens), false};
  if (one_each) launch.tokens = graphs_.padded(launch.tokens);
  launch.is_graph = one_each && captured_ && captured_->has(launch.tokens);
  return launch;
}

LaunchedStep StepRunner::submit(const std::vector<ScheduledPart>& parts) {
  const LaunchedStep launch = launch_of(parts);
  lane_->submit([&]() -> DeviceLane::Work {
    if (!launch.is_graph) return laid_out(parts, launch.tokens);
    return [sampled = captured_->run(parts, launch.tokens, *last_)] { return sampled; };
  });
  return launch;
}

DeviceLane::Work StepRunner::laid_out(const std::vector<ScheduledPart>& parts, std::uint32_t tokens) {
  std::vector<StepSequence> sequences;
  std::vector<std::int64_t> sampling;
  for (const ScheduledPart& part : parts) {
    sequences.push_back(part.sequence);
    if (part.sequence.samples) sampling.push_back(part.tag);
  }
  StepSettings settings = settings_;
  settings.padded_tokens = tokens;
  StepInputs inputs = make_step_inputs(sequences, settings);
  model_.plan_attention(inputs);
  const Pending pending = pending_tokens(parts, batch_order(sequences, settings));
  const at::Tensor places = upload(pending.places, settings.device), from = upload(pending.tags, settings.device);
  const at::Tensor to = upload(sampling, settings.device);
  return [this, inputs = std::move(inputs), places, from, to] {
    last_->read(inputs.ids, places, from);
    at::Tensor sampled = model_.step(inputs, cache_);
    last_->keep(to, sampled);
    return sampled;
  };
}

}  // namespace dooly::profiling
