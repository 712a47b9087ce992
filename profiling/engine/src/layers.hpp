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
  const AttentionShape& attention_shape() const { return attention_.shape(); }

 private:
  at::Tensor mlp_half(const at::Tensor& x) const;
  std::string name_;
  std::uint32_t ranks_;
  bool parallel_;
  Norm input_norm_;
  Attention attention_;
  std::optional<Norm> behind_attention_, before_mlp_, behind_mlp_;
  std::optional<Mlp> mlp_;
  std::optional<Experts> experts_;
};

/// The activation's name in Kernels::gated_activation.
std::string_view activation_name(const oracle::ModelConfig& config);

}  // namespace dooly::profiling
