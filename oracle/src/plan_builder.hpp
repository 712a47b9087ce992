#pragma once

#include "oracle/dtype.hpp"
#include "oracle/model_config.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/step_plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::oracle {

/// Collects the entries of a plan with what each costs. A member function adds one operator to `count` layers.
class PlanBuilder {
 public:
  PlanBuilder(DType dtype, DType kv_dtype, std::uint32_t block_size)
      : dtype_(dtype_name(dtype)),
        cache_(dtype_name(kv_dtype)),
        element_(bytes_per_element(dtype)),
        cache_element_(kv_dtype == DType::kFp8 ? 1 : bytes_per_element(kv_dtype)),
        block_size_(block_size) {}

  /// Weight format of the linear layers that follow, as keys write it, and its bytes.
  struct Format {
    std::string name;
    double bytes = 0;
  };
  Format plain() const { return {dtype_, element_}; }

  PlanEntry& linear(std::string_view name, std::uint32_t count, const Format& weight, double k, double n, bool bias);
  void bmm(std::string_view name, std::uint32_t count, Binding binding, double batch, double k, double n);
  void embedding(std::string_view name, double rows, double hidden);
  void norm(std::string_view name, std::uint32_t count, const ModelConfig& model, double width, bool residual);
  void qk_norm(std::uint32_t count, const QkNormWork& work);
  void rope(std::string_view name, std::uint32_t count, double heads, double kv_heads, double rotary, bool interleaved);
  void kv_write(std::uint32_t count, double kv_heads, double head_dim);
  void latent_write(std::uint32_t count, const MlaShape& mla);
  void activation(std::string_view name, std::uint32_t count, const ModelConfig& model, double width);
  void elementwise(std::string_view name, std::string_view kind, std::uint32_t count, double width,
                   std::uint32_t terms = 2);
  void attention(std::string_view name, std::uint32_t count, OperatorKey key, double prefill_flops, double decode_flops,
                 double kv_bytes);
  void routing(std::uint32_t count, const RoutingWork& work);
  void experts(std::uint32_t count, const Format& weight, const ExpertWork& work, std::uint32_t rows_per_token);
  void collective(std::string_view name, std::string_view kind, std::uint32_t count, std::uint32_t ranks, double bytes,
                  bool per_row = false);
  void sample(double vocabulary);

  const std::string& dtype() const { return dtype_; }
  const std::string& cache() const { return cache_; }
  double element() const { return element_; }
  double cache_element() const { return cache_element_; }
  std::uint32_t block_size() const { return block_size_; }

  /// The entries so far; equal ones are one.
  std::vector<PlanEntry> take();

 private:
  PlanEntry& add(std::string_view name, std::uint32_t count, Binding binding, OperatorKey key);

  std::string dtype_, cache_;
  double element_, cache_element_;
  std::uint32_t block_size_;
  std::vector<PlanEntry> entries_;
};

}  // namespace dooly::oracle
