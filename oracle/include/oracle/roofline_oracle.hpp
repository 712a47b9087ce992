#pragma once

#include "oracle/cuda_graphs.hpp"
#include "oracle/efficiency.hpp"
#include "oracle/gpu.hpp"
#include "oracle/kernel_times.hpp"
#include "oracle/latency_oracle.hpp"
#include "oracle/operators.hpp"
#include "oracle/platform.hpp"

#include <cstdint>
#include <vector>

namespace dooly::oracle {

struct RooflineSettings {
  ExecutionSettings execution;
  std::uint32_t max_num_batched_tokens = 8192;
  std::uint32_t max_num_seqs = 1024;
  std::vector<std::uint32_t> capture_sizes;  ///< empty: eager
  double link_bandwidth = 0;  ///< bytes/s a direction between the replica's GPUs; 0: the GPU's own link
  Efficiency efficiency;      ///< of links; of operators if not `fitted`
  bool fitted = true;  ///< operators take what was measured on the GPU (KernelTimes), else shares of its peaks
};

/// Time of an all-reduce of `bytes` over `ranks` GPUs: the faster of one shot, t = latency + (n − 1) × bytes ÷ link,
/// and a ring, t = 2 (n − 1) × hop + 2 (n − 1)/n × bytes ÷ link. 0 for one rank.
double all_reduce_seconds(double bytes, std::uint32_t ranks, double link_bandwidth, bool nvlink,
                          const Efficiency& efficiency);

/// Latency from FLOPs, bytes and data-sheet peaks, for models and devices that nobody profiled:
/// - each token operator takes what operators of its kind and ideal time, max(FLOPs ÷ peak, bytes ÷ bandwidth), were
///   measured to take (KernelTimes), at the padded batch size; all of them are folded into one table over total tokens
///   when the oracle is made;
/// - attention of decodes: of the bytes of the KV cache (or FLOPs, if more), that of all chunks of prompts together: of
///   the FLOPs of their causal pairs or their KV bytes; a step with both starts one kernel;
/// - logits by rows; experts' weights by the expected number of distinct ones; all-reduces by `all_reduce_seconds`.
/// All of its time is of provenance `roofline`, it states no error, and it knows one clock regime. Grows with tokens,
/// contexts and sequences.
/// A decode-only step is a few table reads and multiplications; nothing is allocated.
class RooflineOracle : public LatencyOracle {
 public:
  /// Throws OracleError if the model cannot be split so or the settings make no sense.
  RooflineOracle(const ModelConfig& model, const Gpu& gpu, const RooflineSettings& settings, const Platform& platform);

  std::string_view name() const override { return "roofline"; }
  RequestCost request_cost(std::uint32_t prompt_tokens) const override { return host_.request(prompt_tokens); }

  bool decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const override;

  const StepOperators& operators() const { return operators_; }
  const CudaGraphs& graphs() const { return graphs_; }

 private:
  struct Row {
    double token_ops = 0;
    double collective = 0;
  };
  /// Ideal seconds of one layer.
  struct AttentionRate {
    AttentionOperator shape;
    double per_decode_token = 0;
    double per_prefill_pair = 0;
    double per_prefill_token = 0;
  };

  void do_cost(const BatchShape& shape, DeviceState state, StepCost& answer) const override;
  double operator_seconds(const TokenOperator& op, std::uint32_t rows, double expert_share) const;
  Row token_row(std::uint32_t tokens, double expert_share) const;
  Row logits_row(std::uint32_t rows) const;
  void build_tables();
  double decode_seconds(const AttentionRate& rate, double attended) const;
  double attention_seconds(const BatchShape& shape) const;

  Gpu gpu_;
  RooflineSettings settings_;
  StepOperators operators_;
  CudaGraphs graphs_;
  HostTimes host_;
  double link_bandwidth_ = 0;
  KernelTimes times_;
  std::vector<AttentionRate> attention_;
  bool has_windows_ = false;  ///< layers that need the skew of the contexts
  std::vector<Row> token_table_;  // by tokens, padding applied
  std::vector<Row> logits_table_;  // by rows
};

}  // namespace dooly::oracle
