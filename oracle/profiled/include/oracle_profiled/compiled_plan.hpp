#pragma once

#include "oracle/cuda_graphs.hpp"
#include "oracle/latency_oracle.hpp"
#include "oracle/platform.hpp"
#include "oracle/sample_set.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/slowdown.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <span>
#include <string>
#include <vector>

namespace dooly::oracle {

struct CompileSettings {
  std::uint32_t max_num_batched_tokens = 8192;
  std::uint32_t max_num_seqs = 1024;
  std::vector<std::uint32_t> capture_sizes;  ///< empty: eager
  Efficiency efficiency;
  double link_bandwidth = 0;  ///< bytes/s a direction between the replica's GPUs; 0: the GPU's own link
  std::uint32_t routing = 0;  ///< of experts, as in samples: 0 balanced, 1 power law 1.01, 2 power law 1.2
  ClockTerms clock = {};      ///< for signatures not measured in both regimes
  bool use_roofline = true;   ///< behind the sources; false: an operator that nobody answers is an error
  bool fitted = true;  ///< that roofline is what was measured on the GPU (KernelTimes), else shares of its peaks
};

/// Who answers one operator of a plan.
struct OperatorAnswer {
  std::string name;
  OperatorKey key;
  Signature signature;
  Binding binding = Binding::kTokens;
  std::uint32_t count = 1;
  int source = -1;  ///< index of the source; -1: roofline
  Origin best = Origin::kRoofline;  ///< measured: its own signature; interpolated: from neighbours
  std::size_t points = 0;
  double fold_error = 0;
  double clock_slowdown = 1;  ///< of its computing, measured in both regimes or the default
  std::string note;  ///< how, where it is not the signature itself
};

/// A step plan with everything that depends on total tokens alone folded into one table, by tokens (padding to captured
/// sizes applied), another by sequences that sample, and attention in closed form. Answers allocate nothing.
/// Per operator the first source that answers wins: its own signature, else its neighbours (linears of other sizes, the
/// same with another bias, the fused add + norm from both, attention with another scale or without sinks, collectives
/// by another family); behind all sources the roofline.
class CompiledPlan {
 public:
  /// Reads the sources once; they need not live on. Throws OracleError that names the operators nobody answers if
  /// `use_roofline` is false.
  CompiledPlan(const StepPlan& plan, std::span<const SampleSource* const> sources, const Gpu& gpu,
               const CompileSettings& settings);

  /// Device time, provenance and stated error; leaves host times alone, and takes `answer.device.gaps` as given.
  void cost(const BatchShape& shape, DeviceState state, StepCost& answer) const;
  /// LatencyOracle::decode_run() without host times; `gaps_s` of each step.
  bool decode_run(const BatchShape& first, double gaps_s, std::span<double> device_s,
                  LatencyOracle::DecodeRun& run) const;

  const std::vector<OperatorAnswer>& operators() const { return answers_; }
  const CudaGraphs& graphs() const { return graphs_; }
  const LayerCounts& layers() const { return layers_; }
  const std::string& backend() const { return backend_; }  ///< of attention, as the plan has it

 private:
  /// What a number of tokens, or of sequences that sample, takes; seconds.
  struct Row {
    double token_ops = 0, collective = 0;
    double clock = 0;  ///< more at the sustained clock
    double compute = 0;  ///< of it at the peak of the matrix units
    double origin[4] = {0, 0, 0, 0};
    double error = 0;  ///< stated, seconds
  };
  struct RowOperator {
    WorkCurve curve;
    double count = 1;
    RowSlowdown slower;
    double scale = 1;  ///< rows to the curve's coordinate: bytes a row
    bool collective = false;
  };
  struct AttentionOperatorModel {
    AttentionModel model;
    double count = 1;
    Origin best = Origin::kMeasured;  ///< interpolated: the samples are another signature's
    double least_error = 0;
    AttentionModel::Result at(const BatchShape& shape, const ChunkSums& chunks) const {
      AttentionModel::Result result = model.at(shape, chunks);
      if (chunks.query > 0) {
        hold_first_tokens(shape, result);
        hold_longest_chunk(shape, chunks, result);
      }
      result.origin = worse(result.origin, best);
      result.error = std::max(result.error, least_error);
      return result;
    }
    /// A chunk of one token counts as a decode, in another kernel than longer ones: raises what the batch takes to that
    /// of the first token of each chunk, so that no further token makes it quicker.
    void hold_first_tokens(const BatchShape& shape, AttentionModel::Result& result) const;
    /// Unequal chunks count as equal ones, in which a short one on a long context gets lost: raises what the batch
    /// takes to that of the longest chunk alone and, the more of it is lost, to that of its first token beside the
    /// others.
    void hold_longest_chunk(const BatchShape& shape, const ChunkSums& chunks, AttentionModel::Result& result) const;
    /// At least what the batch with these chunks takes.
    void hold(const BatchShape& shape, std::span<const PrefillChunk> chunks, AttentionModel::Result& result) const;
    static constexpr std::size_t kMostHeld = 64;  ///< chunks
  };
  /// What decode steps whose mean contexts fall into the same interval share.
  struct DecodeShares {
    std::uint32_t decodes = 0, logits_rows = 0;
    std::uint64_t from = 0, until = 0;  ///< sums of contexts; `until` is the first beyond
    bool holds(const BatchShape& shape) const {
      return decodes == shape.decodes && logits_rows == shape.logits_rows && from <= shape.decode_context &&
             shape.decode_context < until;
    }
    double token_ops = 0, collective = 0, clock = 0;  ///< as in a Row; `clock` with that of attention
    Provenance share;
    double stated_error = 0, compute_share = 0;
  };
  friend class PlanCompiler;

  static Row row_of(const std::vector<RowOperator>& operators, double rows);
  static Row row_in(const std::vector<Row>& table, const std::vector<RowOperator>& operators, std::uint32_t index,
                    std::uint32_t rows);
  Row sum_rows(const BatchShape& shape) const;
  const DecodeShares& decode_shares(const BatchShape& shape) const;
  [[gnu::noinline]] const DecodeShares& renew(DecodeShares* two, const BatchShape& shape) const;
  void fill(DecodeShares& out, const BatchShape& middle) const;

  CudaGraphs graphs_;
  ClockTerms clock_;
  std::vector<RowOperator> by_tokens_, by_rows_, by_decodes_, by_prefill_tokens_;
  std::vector<AttentionOperatorModel> attention_;
  std::vector<Row> token_table_, logits_table_, decode_table_;  // by tokens, sequences that sample, decodes
  std::vector<OperatorAnswer> answers_;
  std::uint32_t longest_absorbed_ = 0;  ///< longest_absorbed() of the plan's latent attention
  LayerCounts layers_;
  std::string backend_;
  mutable std::vector<DecodeShares> shares_;  // a memo by decodes, of two intervals each: the same for the same batch
};

}  // namespace dooly::oracle
