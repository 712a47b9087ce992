#include "recording_kernels.hpp"

#include <fmt/format.h>

namespace dooly::profiling {

namespace {

std::vector<at::Tensor> attention_inputs(const at::Tensor& q, const AttentionMetadata& metadata) {
  std::vector<at::Tensor> all{q, metadata.query_start, metadata.sequence_lengths, metadata.block_table};
  if (metadata.schedule.defined()) all.push_back(metadata.schedule);
  return all;
}

}  // namespace

/// Of latent attention what decodes have.
class RecordingLatent final : public LatentKernels {
 public:
  explicit RecordingLatent(RecordingKernels& log) : log_(log) {}

  void write(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache, const at::Tensor& slots) override {
    const std::string kind = "mla_kv_write";
    const at::Tensor kept = log_.first(kind, "latent", latent), rope = log_.first(kind, "k_rope", k_rope);
    log_.remember(
        kind, [&] { return [this, kept, rope, cache, slots]() mutable { inner().write(kept, rope, cache, slots); }; },
        {kept, rope, slots});
    inner().write(latent, k_rope, cache, slots);
  }

  void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) override {
    const std::string kind = fmt::format("bmm of {}: {} to {}", weight.size(0), weight.size(1), weight.size(2));
    const at::Tensor kept = log_.first(kind, "x", x);
    at::Tensor to = log_.first(kind, "out", out);
    log_.remember(
        kind, [&] { return [this, to, kept, weight]() mutable { inner().multiply_heads(to, kept, weight); }; }, {kept});
    inner().multiply_heads(out, x, weight);
  }

  at::Tensor attend_latent(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                           const AttentionMetadata& metadata, const LatentShape& shape) override {
    const std::string kind = "mla_attention";
    const at::Tensor latent = log_.first(kind, "q_latent", q_latent), rope = log_.first(kind, "q_rope", q_rope);
    std::vector<at::Tensor> small = attention_inputs(latent, metadata);
    small.push_back(rope);
    log_.remember(
        kind,
        [&] {
          return [this, latent, rope, cache, metadata, shape] {
            (void)inner().attend_latent(latent, rope, cache, metadata, shape);
          };
        },
        std::move(small));
    return inner().attend_latent(q_latent, q_rope, cache, metadata, shape);
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const LatentShape& shape, at::ScalarType type) override {
    return inner().schedule(metadata, shape, type);
  }
  PartialAttention attend_expanded(const at::Tensor& q, const ExpandedKeys& keys, const PromptKeys& where,
                                   const LatentShape& shape, bool causal) override {
    return inner().attend_expanded(q, keys, where, shape, causal);
  }
  at::Tensor gather(const at::Tensor& cache, const AttentionMetadata& prompts, const LatentContext& context) override {
    return inner().gather(cache, prompts, context);
  }
  void ignore_empty(PartialAttention& part, const PromptKeys& keys) override { inner().ignore_empty(part, keys); }
  void merge(at::Tensor& out, const at::Tensor& lse, const PartialAttention& first, const PartialAttention& second,
             const c10::SymInt& merged_tokens) override {
    inner().merge(out, lse, first, second, merged_tokens);
  }

 private:
  LatentKernels& inner() const { return *log_.inner_.latent(); }
  RecordingKernels& log_;
};

RecordingKernels::RecordingKernels(Kernels& inner) : inner_(inner), latent_(std::make_unique<RecordingLatent>(*this)) {}

at::Tensor RecordingKernels::first(const std::string& kind, const char* argument, const at::Tensor& tensor) {
  if (!recording_) return tensor;
  return kept_.try_emplace(kind + "." + argument, tensor).first->second;
}

at::Tensor RecordingKernels::linear(const at::Tensor& x, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias) {
  const std::string kind = fmt::format("linear {} to {}", weight.size(1), weight.size(0));
  remember(kind,
           [&] { return [this, x = first(kind, "x", x), weight, bias] { (void)inner_.linear(x, weight, bias); }; },
           {first(kind, "x", x)});
  return inner_.linear(x, weight, bias);
}

at::Tensor RecordingKernels::embedding(const at::Tensor& table, const at::Tensor& ids) {
  remember("embedding", [&] { return [this, table, ids] { (void)inner_.embedding(table, ids); }; });
  return inner_.embedding(table, ids);
}

at::Tensor RecordingKernels::rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const std::string heads = x.dim() == 3 ? fmt::format(", {} heads", x.size(1)) : std::string();
  const std::string kind = fmt::format("rms_norm of {}{}", x.size(-1), heads);
  remember(
      kind,
      [&] { return [this, x = first(kind, "x", x), weight, epsilon] { (void)inner_.rms_norm(x, weight, epsilon); }; },
      {first(kind, "x", x), weight});
  return inner_.rms_norm(x, weight, epsilon);
}

void RecordingKernels::add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) {
  const std::string kind = "add_rms_norm";
  remember(kind,
           [&] {
             return [this, x = first(kind, "x", x), residual = first(kind, "residual", residual), weight,
                     epsilon]() mutable { inner_.add_rms_norm(x, residual, weight, epsilon); };
           },
           {first(kind, "x", x), first(kind, "residual", residual), weight});
  inner_.add_rms_norm(x, residual, weight, epsilon);
}

at::Tensor RecordingKernels::layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const std::string kind = "layer_norm";
  remember(
      kind,
      [&] { return [this, x = first(kind, "x", x), weight, epsilon] { (void)inner_.layer_norm(x, weight, epsilon); }; },
      {first(kind, "x", x), weight});
  return inner_.layer_norm(x, weight, epsilon);
}

void RecordingKernels::rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin,
                            std::int64_t head_dim, bool interleaved) {
  const std::string kind = "rope";
  remember(kind,
           [&] {
             return [this, positions, q = first(kind, "q", q), k = first(kind, "k", k), cos_sin, head_dim,
                     interleaved]() mutable { inner_.rope(positions, q, k, cos_sin, head_dim, interleaved); };
           },
           {positions, first(kind, "q", q), first(kind, "k", k)});
  inner_.rope(positions, q, k, cos_sin, head_dim, interleaved);
}

at::Tensor RecordingKernels::gated_activation(const at::Tensor& x, std::string_view activation) {
  const std::string kind(activation);
  remember(kind, [&] { return [this, x = first(kind, "x", x), kind] { (void)inner_.gated_activation(x, kind); }; },
           {first(kind, "x", x)});
  return inner_.gated_activation(x, activation);
}

void RecordingKernels::write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                                const AttentionMetadata& metadata) {
  const std::string kind = "kv_write";
  remember(kind,
           [&] {
             return [this, k = first(kind, "k", k), v = first(kind, "v", v), k_cache, v_cache, metadata]() mutable {
               inner_.write_kv(k, v, k_cache, v_cache, metadata);
             };
           },
           {first(kind, "k", k), first(kind, "v", v), metadata.slot_mapping});
  inner_.write_kv(k, v, k_cache, v_cache, metadata);
}

at::Tensor RecordingKernels::attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                                       const AttentionMetadata& metadata, const AttentionShape& shape) {
  const std::string kind =
      shape.window > 0 ? fmt::format("attention, window {}", shape.window) : std::string("attention");
  remember(
      kind,
      [&] {
        return [this, q = first(kind, "q", q), k_cache, v_cache, metadata, shape] {
          (void)inner_.attention(q, k_cache, v_cache, metadata, shape);
        };
      },
      attention_inputs(first(kind, "q", q), metadata));
  return inner_.attention(q, k_cache, v_cache, metadata, shape);
}

std::pair<at::Tensor, at::Tensor> RecordingKernels::top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                                bool renormalise) {
  const std::string kind = "topk_softmax";
  remember(kind,
           [&] {
             return [this, logits = first(kind, "logits", logits), top_k, renormalise] {
               (void)inner_.top_experts(logits, top_k, renormalise);
             };
           },
           {first(kind, "logits", logits)});
  return inner_.top_experts(logits, top_k, renormalise);
}

/// Each layer keeps its own choice of experts: it decides which weights are read.
at::Tensor RecordingKernels::experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                                     const at::Tensor& weights, const at::Tensor& ids) {
  const std::string kind = "moe_experts";
  remember(kind,
           [&] {
             return [this, x = first(kind, "x", x), gate_up, down, weights, ids] {
               (void)inner_.experts(x, gate_up, down, weights, ids);
             };
           },
           {first(kind, "x", x), weights, ids});
  return inner_.experts(x, gate_up, down, weights, ids);
}

}  // namespace dooly::profiling
