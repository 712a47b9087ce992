#include "oracle/kv_layout.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace dooly::oracle {

namespace {

/// Layers whose cache looks alike.
struct Spec {
  AttentionKind kind = AttentionKind::kFull;
  std::uint32_t window = 0;
  double token_bytes = 0;
  std::uint32_t layers = 0;
};

std::vector<Spec> collect_specs(const ModelConfig& model, std::uint32_t tp, DType kv_dtype) {
  std::vector<Spec> specs;
  for (const LayerShape& layer : model.layer_classes()) {
    const Spec spec{layer.attention.kind, layer.attention.window, kv_bytes_per_token(model, layer, tp, kv_dtype),
                    layer.count};
    const auto same = std::find_if(specs.begin(), specs.end(), [&](const Spec& other) {
      return other.kind == spec.kind && other.window == spec.window && other.token_bytes == spec.token_bytes;
    });
    if (same == specs.end()) {
      specs.push_back(spec);
    } else {
      same->layers += spec.layers;
    }
  }
  return specs;
}

/// One group: all layers of one kind, whatever their bytes.
KvCacheLayout one_group(const std::vector<Spec>& specs, std::uint32_t block_size) {
  KvCacheLayout layout;
  double token_bytes = 0;
  std::uint32_t layers = 0;
  for (const Spec& spec : specs) {
    token_bytes += spec.token_bytes * spec.layers;
    layers += spec.layers;
  }
  layout.groups.push_back({specs[0].kind, specs[0].window, layers, block_size});
  layout.layers_per_group = layers;
  layout.block_bytes = static_cast<std::uint64_t>(std::llround(token_bytes * block_size));
  return layout;
}

std::uint32_t pool_group_size(std::span<const std::uint32_t> layers) {
  const auto [fewest, most] = std::minmax_element(layers.begin(), layers.end());
  return 2 * *most < 3 * *fewest ? *most : *fewest;
}

std::uint32_t groups_of(std::uint32_t layers, std::uint32_t size) { return (layers + size - 1) / size; }

KvCacheLayout several_groups(const ModelConfig& model, const std::vector<Spec>& specs, std::uint32_t block_size) {
  double page = 0;
  for (const Spec& spec : specs) page = std::max(page, spec.token_bytes);
  KvCacheLayout layout;
  std::vector<std::uint32_t> layers;
  for (const Spec& spec : specs) layers.push_back(spec.layers);
  layout.layers_per_group = pool_group_size(layers);
  layout.block_bytes = static_cast<std::uint64_t>(std::llround(page * block_size)) * layout.layers_per_group;
  for (const Spec& spec : specs) {
    const double ratio = page / spec.token_bytes;
    if (ratio != std::floor(ratio)) {
      throw OracleError(
          fmt::format("model {}: KV cache pages of {} and {} bytes a token cannot be made equal: one must be a "
                      "multiple of the other",
                      model.name, page, spec.token_bytes));
    }
    const std::uint32_t block_tokens = block_size * static_cast<std::uint32_t>(ratio);
    const std::uint32_t count = groups_of(spec.layers, layout.layers_per_group);
    for (std::uint32_t i = 0; i < count; ++i) {  // layers i, i + count, i + 2 count …
      layout.groups.push_back({spec.kind, spec.window, (spec.layers - i + count - 1) / count, block_tokens});
    }
  }
  return layout;
}

}  // namespace

std::uint32_t kv_group_count(std::span<const std::uint32_t> layers) {
  if (layers.size() < 2) return 1;
  const std::uint32_t size = pool_group_size(layers);
  std::uint32_t groups = 0;
  for (const std::uint32_t count : layers) groups += groups_of(count, size);
  return groups;
}

double kv_bytes_per_token(const ModelConfig& model, const LayerShape& layer, std::uint32_t tensor_parallel,
                          DType kv_dtype) {
  const double element = kv_dtype == DType::kFp8 ? 1 : bytes_per_element(kv_dtype);
  if (model.mla) {
    const double latent = double(model.mla->kv_lora_rank) + model.mla->qk_rope_dim;
    const double index = model.mla->index_heads > 0 ? model.mla->index_dim + 4 * (model.mla->index_dim / 128.0) : 0;
    return latent * element + index;
  }
  return 2.0 * kv_heads_per_gpu(layer.attention, tensor_parallel) * layer.attention.head_dim * element;
}

KvCacheLayout kv_cache_layout(const ModelConfig& model, std::uint32_t tensor_parallel, DType kv_dtype,
                              std::uint32_t block_size) {
  if (block_size == 0) throw OracleError("block_size: must be at least 1, got 0");
  const std::vector<Spec> specs = collect_specs(model, tensor_parallel, kv_dtype);
  const bool alike = std::all_of(specs.begin(), specs.end(), [&](const Spec& spec) {
    return spec.kind == specs[0].kind && spec.window == specs[0].window;
  });
  KvCacheLayout layout = alike ? one_group(specs, block_size) : several_groups(model, specs, block_size);
  for (const Spec& spec : specs) layout.bytes_per_token += spec.token_bytes * spec.layers;
  return layout;
}

}  // namespace dooly::oracle
