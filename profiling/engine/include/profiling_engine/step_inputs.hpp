#pragma once

#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/latent_batch.hpp"

#include <c10/core/Device.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dooly::profiling {

/// One request's part in a step.
struct StepSequence {
  std::vector<std::int64_t> tokens;  ///< ids of those to compute now; at least one
  std::int64_t computed = 0;         ///< tokens in the cache before
  std::vector<std::vector<std::uint32_t>> blocks;  ///< block table of each group of layers, up to the last new token
  bool samples = true;               ///< its last token's logits are wanted
};

/// What a forward pass is given. All tensors are on the model's device.
struct StepInputs {
  at::Tensor ids;        ///< int64 [tokens]
  at::Tensor positions;  ///< int64 [tokens]
  at::Tensor rows;       ///< int64 [logits rows]: tokens whose logits are wanted
  std::vector<AttentionMetadata> groups;  ///< one a group of layers that share a block table
  std::optional<LatentBatch> latent;      ///< for latent attention: the same, cut
};

struct StepSettings {
  std::uint32_t block_size = 16;
  std::uint32_t groups = 1;
  /// Tokens are filled up to this many (a captured size) by sequences of one token each in the null block; 0: not.
  std::int64_t padded_tokens = 0;
  c10::Device device = c10::DeviceType::CPU;
  std::optional<LatentRules> latent;  ///< of models with latent attention (Model::latent_rules())
};

/// Sizes of the tensors of StepInputs, for those who want to know where they came from; values must be the actual ones.
struct StepSizes {
  c10::SymInt tokens = 0, requests = 0, rows = 0;
  std::vector<c10::SymInt> blocks;  ///< of each group: columns of the block table
  LatentSizes latent;
};
StepSizes sizes_of(std::span<const StepSequence> sequences, const StepSettings& settings);

/// Places of sequences in the order in which their tokens lie in the batch: as given, or as latent attention needs
/// them.
std::vector<std::size_t> batch_order(std::span<const StepSequence> sequences, const StepSettings& settings);

/// Lays a batch out. Rows whose logits are wanted are in the order of the sequences, wherever their tokens lie.
/// `sizes`: shapes of the tensors (default: sizes_of).
StepInputs make_step_inputs(std::span<const StepSequence> sequences, const StepSettings& settings,
                            const std::optional<StepSizes>& sizes = std::nullopt);

}  // namespace dooly::profiling
