#include "profiling_engine/step_runner.hpp"

#include "upload.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace dooly::profiling {

namespace {

/// Token ids of a batch that are still on the device: places in the batch and whose they are.
struct Pending {
  std::vector<std::int64_t> places, tags;
};

Pending pending_tokens(const std::vector<ScheduledPart>& parts) {
  Pending pending;
  std::int64_t end = 0;
  for (const ScheduledPart& part : parts) {
    end += static_cast<std::int64_t>(part.sequence.tokens.size());
    if (!part.last_is_pending) continue;
    pending.places.push_back(end - 1);
    pending.tags.push_back(part.tag);
  }
  return pending;
}

}  // namespace

StepRunner::StepRunner(const Model& model, std::uint32_t max_tags, oracle::CudaGraphs graphs)
    : model_(model),
      graphs_(std::move(graphs)),
      cache_(model.make_cache()) {
  settings_.block_size = static_cast<std::uint32_t>(model.dims().block_size.guard_int(__FILE__, __LINE__));
  settings_.device = model.device();
  settings_.groups = model.cache_groups();
  last_ = at::zeros({max_tags}, at::TensorOptions().dtype(at::kLong).device(settings_.device));
  lane_ = make_device_lane(settings_.device);
}

StepRunner::~StepRunner() = default;

std::uint32_t StepRunner::padded_tokens(const std::vector<ScheduledPart>& parts) const {
  std::size_t tokens = 0;
  bool one_each = true;
  for (const ScheduledPart& part : parts) {
    tokens += part.sequence.tokens.size();
    one_each = one_each && part.sequence.tokens.size() == 1;
  }
  const auto count = static_cast<std::uint32_t>(tokens);
  return one_each ? graphs_.padded(count) : count;
}

std::uint32_t StepRunner::submit(const std::vector<ScheduledPart>& parts) {
  std::vector<StepSequence> sequences;
  std::vector<std::int64_t> sampling;
  for (const ScheduledPart& part : parts) {
    sequences.push_back(part.sequence);
    if (part.sequence.samples) sampling.push_back(part.tag);
  }
  const std::uint32_t tokens = padded_tokens(parts);
  StepSettings settings = settings_;
  settings.padded_tokens = tokens;
  const StepInputs inputs = make_step_inputs(sequences, settings);
  const Pending pending = pending_tokens(parts);
  const at::Tensor places = upload(pending.places, settings.device), from = upload(pending.tags, settings.device);
  const at::Tensor to = upload(sampling, settings.device);
  lane_->submit([this, inputs, places, from, to] {
    if (places.numel() > 0) {
      at::Tensor ids = inputs.ids;
      ids.index_copy_(0, places, last_.index_select(0, from));
    }
    at::Tensor sampled = model_.step(inputs, cache_);
    last_.index_copy_(0, to, sampled);
    return sampled;
  });
  return tokens;
}

}  // namespace dooly::profiling
