#pragma once

#include "profiling_measure/runnable.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// What a maker of runnables is handed.
struct Making {
  const oracle::OperatorKey& key;
  const oracle::SamplePoint& point;
  Kernels& kernels;
  Inputs& inputs;

  std::int64_t dim(std::size_t i) const { return static_cast<std::int64_t>(key.dims.at(i)); }
  std::int64_t tokens() const { return static_cast<std::int64_t>(point[0]); }
  /// Of the key's first operand.
  at::ScalarType type() const { return scalar_type(key.dtypes.at(0)); }
  /// What the operator before has just written: several tensors, used in turn, if all of them fit into the cache with
  /// room to spare. How fast a cache answers depends on where a tensor lies; turns average over places.
  std::vector<at::Tensor> activations(const std::string& name, const Inputs::Sizes& sizes) const;
  bool flag(const char* name, bool usual = false) const;
  std::int64_t count(const char* name, std::int64_t usual) const;
  double number(const char* name, double usual) const;
  std::string text(const char* name, std::string_view usual) const;
};

using Maker = Runnable (*)(const Making&);

/// Reads attributes of a key; throws ProfilingError for one of another type.
bool flag_of(const oracle::OperatorKey& key, const char* name, bool usual = false);
double number_of(const oracle::OperatorKey& key, const char* name, double usual);
std::string text_of(const oracle::OperatorKey& key, const char* name, std::string_view usual);

/// What keys of these kinds say of a layer.
AttentionShape attention_shape(const oracle::OperatorKey& key);
ExpertShape expert_shape(const oracle::OperatorKey& key);
HeadShape head_shape(const oracle::OperatorKey& key);
LatentShape latent_shape(const oracle::OperatorKey& key);

/// Whether a key is that of norms of heads which the engine's compiler fuses with the rotary embedding.
bool has_compiled_head_norms(const oracle::OperatorKey& key);

Runnable make_linear(const Making& making);
Runnable make_embedding(const Making& making);
Runnable make_rms_norm(const Making& making);
Runnable make_layer_norm(const Making& making);
Runnable make_qk_norm(const Making& making);
Runnable make_rope(const Making& making);
Runnable make_gated_activation(const Making& making);
Runnable make_add(const Making& making);
Runnable make_soft_cap(const Making& making);
Runnable make_sigmoid_mul(const Making& making);
Runnable make_sample(const Making& making);
Runnable make_kv_write(const Making& making);
Runnable make_attention(const Making& making);
Runnable make_bmm(const Making& making);
Runnable make_mla_kv_write(const Making& making);
Runnable make_mla_attention(const Making& making);
Runnable make_topk_softmax(const Making& making);
Runnable make_experts(const Making& making);

}  // namespace dooly::profiling
