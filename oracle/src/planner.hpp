#pragma once

#include "plan_builder.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// An attention back end: how we call it, how the engine does, and the family of its kernels for latent attention.
struct PlanBackend {
  std::string_view name, engine_name, latent;
};
/// LibTorch's own kernels.
inline constexpr std::string_view kTorchBackend = "torch";
/// The family of a back end's kernels for heads of that size.
std::string_view attention_family(const PlanBackend& backend, std::uint64_t head_dim);
/// LibTorch's own kernels throughout, as the built-in engine runs them: that back end is no attention kernel alone.
void use_torch_kernels(StepPlan& plan);

/// Walks the layers of one stage. Which operators a step has and in which order follows the model files of vLLM 0.26
/// (vllm/model_executor/models).
class Planner {
 public:
  /// All must outlive this. Throws OracleError for what cannot be planned, here and in plan().
  Planner(const ModelConfig& model, const PlanSettings& settings, const PlanBackend& backend);
  StepPlan plan();

 private:
  // --- what is planned
  void check();
  void check_experts();
  PlanBuilder::Format format(const std::optional<DType>& weights) const;
  StepPlan header() const;
  /// Embeddings, head and final norm, unsplit; a tied matrix belongs to the first stage.
  std::uint64_t outer_parameters() const;

  // --- around the layers
  void add_embedding();
  /// What goes from stage to stage: the hidden states, and the residual stream where it is kept apart. Every tensor-
  /// parallel GPU sends its share; the receivers gather.
  double stage_message() const;
  void add_send() { build_.collective("stage_send", "send_recv", 1, 2, stage_message() / tp_); }
  void add_head();
  void all_reduce(std::uint32_t count);

  // --- a layer
  void add_layer(const LayerShape& layer);
  void norm(std::string_view name, bool residual) { build_.norm(name, 1, model_, model_.hidden, residual); }
  void add_attention(const LayerShape& layer);
  /// Layers whose heads differ rotate the same share of them.
  double rotary_dim(const LayerShape& layer) const;
  void add_qk_norm(const LayerShape& layer);

  // --- latent attention
  void add_latent_attention(const LayerShape& layer);
  void add_query(double query);
  void norm_of(std::string_view name, double width) { build_.norm(name, 1, model_, width, false); }
  MlaWork latent_work(const LayerShape& layer) const;
  std::string latent_family() const;
  /// The indexer scores every earlier token; attention then sees the best `index_top_k` of them.
  void add_indexer(const LayerShape& layer);
  void add_module(const MlaWork& work);

  // --- MLP and experts
  void add_mlp_half(const LayerShape& layer);
  void add_mlp(const std::string& prefix, double width);
  void add_experts();

  const ModelConfig& model_;
  const PlanSettings& settings_;
  const PlanBackend& backend_;
  DType dtype_, kv_dtype_;
  std::uint32_t tp_;
  PlanBuilder build_;
  PlanBuilder::Format linear_, expert_;
  std::vector<LayerShape> layers_;
  std::vector<PlanModule> modules_;
  std::uint32_t first_layer_ = 0;
  bool first_ = true, last_ = true, started_ = false;
};

}  // namespace dooly::oracle
