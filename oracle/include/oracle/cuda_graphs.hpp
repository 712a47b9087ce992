#pragma once

#include "oracle/batch_shape.hpp"

#include <cstdint>
#include <vector>

namespace dooly::oracle {

/// How the engine launches a forward pass.
enum class GraphMode : std::uint8_t {
  kFull,       ///< one captured graph: batches in which every sequence computes one token
  kPiecewise,  ///< captured between the attention calls
  kNone,       ///< compiled or eager, launched kernel by kernel
};

/// CUDA-graph capture sizes and the padding they cause (vLLM 0.26, cudagraph_mode FULL_AND_PIECEWISE).
class CudaGraphs {
 public:
  /// `sizes` in any order; empty: nothing is captured (enforce_eager).
  explicit CudaGraphs(std::vector<std::uint32_t> sizes);

  /// 1, 2, 4, 8 … 256 by 8, 272 … by 16, up to min(512, 2 × max_num_seqs, max_num_batched_tokens).
  static std::vector<std::uint32_t> default_sizes(std::uint32_t max_num_seqs, std::uint32_t max_num_batched_tokens);

  GraphMode mode(const BatchShape& shape) const {
    if (shape.tokens() > largest_) return GraphMode::kNone;
    // Chunks of one token each (a prompt's last one) run as decodes do.
    return shape.prefill_tokens == shape.prefills.size() ? GraphMode::kFull : GraphMode::kPiecewise;
  }

  /// Tokens that are computed for a batch of `tokens`: the next capture size, or `tokens` itself above the largest.
  std::uint32_t padded(std::uint32_t tokens) const { return tokens < padded_.size() ? padded_[tokens] : tokens; }
  std::uint32_t largest() const { return largest_; }

 private:
  std::uint32_t largest_ = 0;
  std::vector<std::uint32_t> padded_;  // by tokens
};

}  // namespace dooly::oracle
