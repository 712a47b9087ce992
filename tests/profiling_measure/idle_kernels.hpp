#pragma once

#include "profiling_kernels/kernels.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace dooly::profiling {

/// Kernels that give back what they are handed; tests override what they are about.
class IdleKernels : public Kernels {
 public:
  explicit IdleKernels(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::string family(std::string_view) const override { return name_; }
  at::Tensor linear(const at::Tensor& x, const at::Tensor&, const std::optional<at::Tensor>&) override { return x; }
  at::Tensor embedding(const at::Tensor& table, const at::Tensor&) override { return table; }
  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor&, double) override { return x; }
  void add_rms_norm(at::Tensor&, at::Tensor&, const at::Tensor&, double) override {}
  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor&, double) override { return x; }
  void rope(const at::Tensor&, at::Tensor&, at::Tensor&, const at::Tensor&, std::int64_t, bool) override {}
  at::Tensor gated_activation(const at::Tensor& x, std::string_view) override { return x; }
  void write_kv(const at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&, const AttentionMetadata&) override {}
  at::Tensor attention(const at::Tensor& q, const at::Tensor&, const at::Tensor&, const AttentionMetadata&,
                       const AttentionShape&) override {
    return q;
  }
  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t, bool) override {
    return {logits, logits};
  }
  at::Tensor experts(const at::Tensor& x, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                     const at::Tensor&) override {
    return x;
  }
  at::Tensor sample(const at::Tensor& logits) override { return logits; }

 private:
  std::string name_;
};

}  // namespace dooly::profiling
