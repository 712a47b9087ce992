#pragma once

#include "profiling_kernels/kernels.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Passes calls on and remembers them, so that they can be made again without the rest of the model: with their own
/// weights and cache, and with the activations of the first call of their kind, which so stay in the GPU's cache as
/// they do where an operator follows the one that made them.
class RecordingKernels final : public Kernels {
 public:
  struct Call {
    std::string kind;
    std::function<void()> again;
    std::vector<at::Tensor> small;  ///< what it reads beside weights and cache
  };
  explicit RecordingKernels(Kernels& inner);
  /// From now on calls are remembered; off: only passed on, and nothing of them is kept alive.
  void record(bool on) { recording_ = on; }
  std::vector<Call> take() { return std::move(calls_); }

  std::string_view name() const override { return inner_.name(); }
  std::string family(std::string_view kind) const override { return inner_.family(kind); }
  bool can_be_captured() const override { return inner_.can_be_captured(); }
  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return inner_.refusal(shape, type);
  }
  std::string refusal(const LatentShape& shape, at::ScalarType type) const override {
    return inner_.refusal(shape, type);
  }
  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) override;
  at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) override;
  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override;
  void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) override;
  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override;
  void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin, std::int64_t head_dim,
            bool interleaved) override;
  at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) override;
  void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                const AttentionMetadata& metadata) override;
  at::Tensor attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                       const AttentionMetadata& metadata, const AttentionShape& shape) override;
  at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape, at::ScalarType type) override {
    return inner_.schedule(metadata, shape, type);
  }
  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                bool renormalise) override;
  at::Tensor experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                     const at::Tensor& ids) override;
  at::Tensor sample(const at::Tensor& logits) override { return inner_.sample(logits); }
  LatentKernels* latent() override { return inner_.latent() == nullptr ? nullptr : latent_.get(); }

 private:
  friend class RecordingLatent;
  /// That of the first call of this kind.
  at::Tensor first(const std::string& kind, const char* argument, const at::Tensor& tensor);
  void remember(const std::string& kind, const std::function<std::function<void()>()>& call,
                std::vector<at::Tensor> small = {}) {
    if (recording_) calls_.push_back({kind, call(), std::move(small)});
  }

  Kernels& inner_;
  bool recording_ = false;
  std::map<std::string, at::Tensor> kept_;
  std::vector<Call> calls_;
  std::unique_ptr<LatentKernels> latent_;
};

}  // namespace dooly::profiling
