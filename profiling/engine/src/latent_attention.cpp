#include "layers.hpp"

#include "profiling_kernels/module_scope.hpp"
#include "profiling_kernels/torch_operators.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/split_with_sizes.h>

#include <cmath>
#include <utility>

namespace dooly::profiling {

LatentShape latent_shape(const BuildContext& build) {
  const oracle::MlaShape& mla = *build.config.mla;
  LatentShape shape;
  shape.heads = build.config.layers.front().attention.heads / build.tensor_parallel;
  shape.rank = mla.kv_lora_rank;
  shape.nope = mla.qk_nope_dim;
  shape.rope = mla.qk_rope_dim;
  shape.value = mla.v_dim;
  const double scale = build.config.attention_scale;
  shape.scale = scale > 0 ? scale : 1 / std::sqrt(double(mla.qk_nope_dim) + mla.qk_rope_dim);
  shape.block_size = build.dims.block_size.guard_int(__FILE__, __LINE__);
  return shape;
}

LatentAttention::LatentAttention(const BuildContext& build, KvPlace place, at::Tensor rotary_table)
    : dims_(build.dims),
      shape_(latent_shape(build)),
      place_(place),
      ranks_(build.tensor_parallel),
      down_(make_linear(build, build.config.mla->q_lora_rank > 0 ? "fused_qkv_a_proj" : "kv_a_proj_with_mqa",
                        dims_.hidden, dims_.q_lora_rank + dims_.latent_width(), false)),
      norm_(make_norm(build, "kv_a_layernorm", dims_.kv_lora_rank)),
      up_(make_linear(build, "kv_b_proj", dims_.kv_lora_rank, dims_.local_heads() * (dims_.qk_nope_dim + dims_.v_dim),
                      false)),
      output_(make_linear(build, "o_proj", dims_.local_heads() * dims_.v_dim, dims_.hidden, false)),
      rotary_table_(std::move(rotary_table)),
      kernels_(build.kernels) {
  const c10::SymInt query = dims_.local_heads() * query_dim();
  if (build.config.mla->q_lora_rank > 0) {
    q_norm_ = make_norm(build, "q_a_layernorm", dims_.q_lora_rank);
    q_up_ = make_linear(build, "q_b_proj", dims_.q_lora_rank, query, false);
  } else {
    queries_ = make_linear(build, "q_proj", dims_.hidden, query, false);
  }
  const at::Tensor by_head =
      up_.weight.view_symint({dims_.local_heads(), dims_.qk_nope_dim + dims_.v_dim, dims_.kv_lora_rank});
  const std::vector<at::Tensor> parts = at::split_with_sizes_symint(by_head, {dims_.qk_nope_dim, dims_.v_dim}, 1);
  up_keys_ = parts[0];
  up_values_ = parts[1].transpose(1, 2);
}

LatentAttention::Projected LatentAttention::project(const at::Tensor& x) const {
  at::Tensor q;
  if (queries_) q = (*queries_)(x);
  const at::Tensor down = down_(x);
  const std::vector<at::Tensor> parts =
      queries_ ? at::split_with_sizes_symint(down, {dims_.kv_lora_rank, dims_.qk_rope_dim}, -1)
               : at::split_with_sizes_symint(down, {dims_.q_lora_rank, dims_.kv_lora_rank, dims_.qk_rope_dim}, -1);
  if (!queries_) q = (*q_up_)((*q_norm_)(parts[0]));
  const std::size_t latent = parts.size() - 2;
  return {q.view_symint({x.sym_size(0), dims_.local_heads(), query_dim()}), norm_(parts[latent]), parts[latent + 1]};
}

ExpandedKeys LatentAttention::expand(const at::Tensor& latent, at::Tensor k_rope) const {
  const at::Tensor kv = up_(latent);
  return {kv.view_symint({latent.sym_size(0), dims_.local_heads(), dims_.qk_nope_dim + dims_.v_dim}),
          std::move(k_rope)};
}

void LatentAttention::attend_prompts(at::Tensor& out, const Projected& tokens, const at::Tensor& cache,
                                     const LatentBatch& batch) const {
  const ModuleScope scope("prompts", kLatentPart);
  const auto own = [&](const at::Tensor& all) {
    return at::narrow_symint(all, 0, batch.decode_tokens, batch.prompt_tokens);
  };
  at::Tensor to = own(out);
  const auto expand_rows = [this](const at::Tensor& rows) {
    const std::vector<at::Tensor> parts =
        at::split_with_sizes_symint(rows, {dims_.kv_lora_rank, dims_.qk_rope_dim}, -1);
    return expand(parts[0], parts[1]);
  };
  profiling::attend_prompts(*kernels_.latent(), to, own(tokens.q), expand(own(tokens.latent), own(tokens.k_rope)),
                            cache, batch, shape_, expand_rows);
}

void LatentAttention::attend_decodes(at::Tensor& out, const Projected& tokens, const at::Tensor& cache,
                                     const LatentBatch& batch) const {
  const ModuleScope scope("decodes", kLatentPart);
  LatentKernels& latent = *kernels_.latent();
  const std::vector<at::Tensor> q = at::split_with_sizes_symint(at::narrow_symint(tokens.q, 0, 0, batch.decode_tokens),
                                                                {dims_.qk_nope_dim, dims_.qk_rope_dim}, -1);
  at::Tensor absorbed =
      at::empty_symint({dims_.local_heads(), batch.decode_tokens, dims_.kv_lora_rank}, tokens.q.options());
  latent.multiply_heads(absorbed, q[0].transpose(0, 1), up_keys_);
  const at::Tensor attended = latent.attend_latent(absorbed.transpose(0, 1), q[1], cache, batch.decodes, shape_);
  at::Tensor to = at::narrow_symint(out, 0, 0, batch.decode_tokens).transpose(0, 1);
  latent.multiply_heads(to, attended.transpose(0, 1), up_values_);
}

at::Tensor LatentAttention::attend(const Projected& tokens, const StepContext& step) const {
  const ModuleScope scope("attn", kLatentCore);
  const LatentBatch& batch = *step.inputs.latent;
  at::Tensor& cache = step.cache.keys[place_.tensor];
  kernels_.latent()->write(tokens.latent, tokens.k_rope, cache, step.inputs.groups.at(place_.group).slot_mapping);
  at::Tensor out = at::empty_symint({batch.tokens, dims_.local_heads(), dims_.v_dim}, tokens.q.options());
  if (batch.prompts.query_start.defined()) attend_prompts(out, tokens, cache, batch);
  if (batch.decodes.query_start.defined()) attend_decodes(out, tokens, cache, batch);
  return out;
}

at::Tensor LatentAttention::operator()(const at::Tensor& x, const StepContext& step) const {
  const ModuleScope scope("self_attn", "LatentAttention");
  Projected tokens = project(x);
  {
    const ModuleScope rotary("rotary_emb", "RotaryEmbedding");
    at::Tensor q_rope = at::split_with_sizes_symint(tokens.q, {dims_.qk_nope_dim, dims_.qk_rope_dim}, -1)[1];
    at::Tensor k_rope = tokens.k_rope.unsqueeze(1);
    kernels_.rope(step.inputs.positions, q_rope, k_rope, rotary_table_, shape_.rope, /*interleaved=*/true);
  }
  const at::Tensor out = attend(tokens, step);
  at::Tensor projected = output_(out.view_symint({x.sym_size(0), dims_.local_heads() * dims_.v_dim}));
  if (ranks_ > 1) all_reduce(projected, ranks_);
  return projected;
}

}  // namespace dooly::profiling
