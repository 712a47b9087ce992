#include "step_graphs.hpp"

#include <algorithm>

namespace dooly::profiling {

namespace {

std::uint32_t largest(const std::vector<std::uint32_t>& sizes) {
  return sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

StepGraphs::StepGraphs(const Model& model, KvTensors& cache, const StepSettings& settings,
                       const std::vector<std::uint32_t>& sizes)
    : model_(model),
      cache_(cache),
      guard_(settings.device.type()),
      stream_(guard_.getStreamNativeHandle(guard_.getStream(settings.device))),
      inputs_(model, settings, largest(sizes)),
      pool_(settings.device) {
  std::vector<std::uint32_t> falling = sizes;  // so that smaller graphs fit into the memory of the largest
  std::sort(falling.rbegin(), falling.rend());
  for (const std::uint32_t size : falling) capture(size);
}

/// A part that stands in the null block.
void StepGraphs::capture(std::uint32_t size) {
  ScheduledPart part;
  part.sequence.tokens = {0};
  part.sequence.blocks.assign(model_.cache_groups(), {0});
  inputs_.write(std::vector<ScheduledPart>(size, part), size);
  Captured captured{CudaGraph(cuda_), inputs_.view(size), {}};
  model_.plan_attention(captured.inputs);
  (void)model_.forward(captured.inputs, cache_);  // workspaces and lazily loaded kernels have to be there
  cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
  pool_.capture(captured.graph, stream_, [&] { captured.hidden = model_.forward(captured.inputs, cache_); });
  graphs_.emplace(size, std::move(captured));
}

at::Tensor StepGraphs::run(const std::vector<ScheduledPart>& parts, std::uint32_t padded, LastTokens& last) {
  Captured& captured = graphs_.at(padded);
  inputs_.write(parts, padded);
  last.read(captured.inputs.ids, inputs_.places(), inputs_.from());
  plan(captured.inputs);
  captured.graph.launch(stream_);
  at::Tensor sampled = model_.sample(captured.hidden, inputs_.rows());
  last.keep(inputs_.tags(), sampled);
  return sampled;
}

/// The graph knows where the plan of its size lies.
void StepGraphs::plan(StepInputs& inputs) const {
  StepInputs fresh = inputs;
  model_.plan_attention(fresh);
  const auto keep_place = [](const AttentionMetadata& known, const AttentionMetadata& now) {
    at::Tensor kept = known.schedule;
    if (kept.defined()) kept.copy_(now.schedule);
  };
  for (std::size_t i = 0; i < inputs.groups.size(); ++i) keep_place(inputs.groups[i], fresh.groups[i]);
  if (inputs.latent) keep_place(inputs.latent->decodes, fresh.latent->decodes);
}

}  // namespace dooly::profiling
