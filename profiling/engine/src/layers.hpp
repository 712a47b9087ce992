#pragma once

#include "profiling_engine/model.hpp"
#include "weight_maker.hpp"

#include <optional>
#include <string>
#include <vector>

// The modules of a model: weights and what is computed with them. Names are those of vLLM's model files.

namespace dooly::profiling {

/// What every module is built from.
struct BuildContext {
  const oracle::ModelConfig& config;
  const ModelNumbers& numbers;
  const ModelDims& dims;
  std::uint32_t tensor_parallel;
  WeightMaker& weights;
  Kernels& kernels;
};

LatentShape latent_shape(const BuildContext& build);

/// Throws ProfilingError in the kernels' words where they cannot run the attention of one of the layers.
void check_attention(const BuildContext& build, at::ScalarType type);

struct Linear {
  std::string name;
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  Kernels* kernels = nullptr;
  at::Tensor operator()(const at::Tensor& x) const;
};
Linear make_linear(const BuildContext& build, std::string name, c10::SymInt inputs, c10::SymInt outputs, bool bias);

struct Norm {
  std::string name;
  at::Tensor weight;
  double epsilon = 0;
  bool subtracts_mean = false;
  Kernels* kernels = nullptr;
  at::Tensor operator()(const at::Tensor& x) const;
  /// residual += x, x = norm(residual).
  void add(at::Tensor& x, at::Tensor& residual) const;
};
/// `factor` scales the output.
Norm make_norm(const BuildContext& build, std::string name, c10::SymInt width, double factor = 1);

/// What is the same in all layers of a step.
struct StepContext {
  const StepInputs& inputs;
  KvTensors& cache;
};

class Attention {
 public:
  Attention(const BuildContext& build, const oracle::AttentionShape& shape, KvPlace place, at::Tensor rotary_table);
  at::Tensor operator()(const at::Tensor& x, const StepContext& step) const;
  const AttentionShape& shape() const { return shape_; }

 private:
  at::Tensor normalised(const Norm& norm, const at::Tensor& x, const c10::SymInt& heads) const;
  ModelDims dims_;
  AttentionShape shape_;
  KvPlace place_;
  std::uint32_t ranks_;
  bool across_heads_, interleaved_;
  Linear qkv_, output_;
  std::optional<Norm> q_norm_, k_norm_;
  at::Tensor rotary_table_;  ///< undefined: positions are not encoded
  Kernels& kernels_;
};

/// Multi-head latent attention (DeepSeek-V2): the cache holds a latent from which each head's keys and values follow.
/// Decodes multiply queries and outputs with those projections and stay in the latent; prompts expand it.
class LatentAttention {
 public:
  LatentAttention(const BuildContext& build, KvPlace place, at::Tensor rotary_table);
  at::Tensor operator()(const at::Tensor& x, const StepContext& step) const;
  const LatentShape& shape() const { return shape_; }

 private:
  struct Projected {
    at::Tensor q;               ///< [T, heads, nope + rope]
    at::Tensor latent, k_rope;  ///< [T, rank] and [T, rope]
  };
  Projected project(const at::Tensor& x) const;
  at::Tensor attend(const Projected& tokens, const StepContext& step) const;
  void attend_decodes(at::Tensor& out, const Projected& tokens, const at::Tensor& cache,
                      const LatentBatch& batch) const;
  void attend_prompts(at::Tensor& out, const Projected& tokens, const at::Tensor& cache,
                      const LatentBatch& batch) const;
  ExpandedKeys expand(const at::Tensor& latent, at::Tensor k_rope) const;
  c10::SymInt query_dim() const { return dims_.qk_nope_dim + dims_.qk_rope_dim; }
  ModelDims dims_;
  LatentShape shape_;
  KvPlace place_;
  std::uint32_t ranks_;
  std::optional<Linear> queries_;  ///< where they have no latent
  std::optional<Norm> q_norm_;     ///< of their latent, and from it:
  std::optional<Linear> q_up_;
  Linear down_;  ///< to the latent of keys and values; of queries too where they have one
  Norm norm_;
  Linear up_;
  at::Tensor up_keys_, up_values_;  ///< views of its weight: [heads, nope, rank], [heads, rank, value]
  Linear output_;
  at::Tensor rotary_table_;
  Kernels& kernels_;
};

struct Mlp {
  std::string name;
  Linear gate_up, down;
  std::string_view activation;
  Kernels* kernels = nullptr;
  at::Tensor operator()(const at::Tensor& x) const;
};
Mlp make_mlp(const BuildContext& build, std::string name, const c10::SymInt& width);

class Experts {
 public:
  explicit Experts(const BuildContext& build);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  std::int64_t top_k_;
  bool renormalise_;
  Linear router_;
  at::Tensor gate_up_, down_;
  std::optional<Mlp> shared_;
  std::optional<Linear> shared_gate_;
  Kernels& kernels_;
};

/// One decoder layer.
class Layer {
 public:
  Layer(const BuildContext& build, std::size_t number, KvPlace place, at::Tensor rotary_table);
  /// `residual` undefined: the first layer.
  void operator()(at::Tensor& x, at::Tensor& residual, const StepContext& step) const;
  const AttentionShape& attention_shape() const { return attention_->shape(); }
  const LatentShape& latent_shape() const { return latent_->shape(); }

 private:
  at::Tensor attention_half(const at::Tensor& x, const StepContext& step) const;
  at::Tensor mlp_half(const at::Tensor& x) const;
  std::string name_;
  std::uint32_t ranks_;
  bool parallel_;
  Norm input_norm_;
  std::optional<Attention> attention_;
  std::optional<LatentAttention> latent_;
  std::optional<Norm> behind_attention_, before_mlp_, behind_mlp_;
  std::optional<Mlp> mlp_;
  std::optional<Experts> experts_;
};

/// The activation's name in Kernels::gated_activation.
std::string_view activation_name(const oracle::ModelConfig& config);

}  // namespace dooly::profiling
