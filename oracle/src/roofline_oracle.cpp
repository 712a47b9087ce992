#include "oracle/roofline_oracle.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace dooly::oracle {

double all_reduce_seconds(double bytes, std::uint32_t ranks, double link_bandwidth, bool nvlink,
                          const Efficiency& efficiency) {
  if (ranks <= 1) return 0;
  const double latency = nvlink ? 1 : efficiency.pcie_factor;
  const double link = link_bandwidth * efficiency.link;
  const double peers = ranks - 1.0;
  const double one_shot = latency * efficiency.one_shot_seconds + peers * bytes / link;
  const double ring = latency * 2 * peers * efficiency.ring_hop_seconds + 2 * peers / ranks * bytes / link;
  return std::min(one_shot, ring);
}

RooflineOracle::RooflineOracle(const ModelConfig& model, const Gpu& gpu, const RooflineSettings& settings,
                               const Platform& platform)
    : gpu_(gpu),
      settings_(settings),
      operators_(step_operators(model, settings.execution)),
      graphs_(settings.capture_sizes),
      host_(platform, layer_counts(model)),
      link_bandwidth_(settings.link_bandwidth > 0 ? settings.link_bandwidth : gpu.link_bandwidth),
      times_(settings.fitted ? KernelTimes::fitted(gpu) : KernelTimes::flat(settings.efficiency)) {
  if (settings.max_num_batched_tokens == 0 || settings.max_num_batched_tokens > (1u << 24)) {
    throw OracleError(
        fmt::format("max_num_batched_tokens: must be from 1 to {}, got {}", 1u << 24, settings.max_num_batched_tokens));
  }
  if (settings.max_num_seqs == 0 || settings.max_num_seqs > (1u << 20)) {
    throw OracleError(fmt::format("max_num_seqs: must be from 1 to {}, got {}", 1u << 20, settings.max_num_seqs));
  }
  build_tables();
}

void RooflineOracle::build_tables() {
  const double flops = peak_flops(gpu_, settings_.execution.dtype);
  for (const AttentionOperator& op : operators_.attention) {
    const double read = op.kv_bytes_per_token / gpu_.memory_bandwidth;
    attention_.push_back({.shape = op,
                          .per_decode_token = times_.ideal(KernelKind::kDecode, op.decode_flops_per_pair / flops, read),
                          .per_prefill_pair = op.prefill_flops_per_pair / flops,
                          .per_prefill_token = read});
    has_windows_ = has_windows_ || op.kind != AttentionKind::kFull;
  }
  const std::uint32_t most = settings_.max_num_batched_tokens + settings_.max_num_seqs;
  token_table_.resize(std::max(most, graphs_.largest()) + 1);
  for (std::uint32_t tokens = 1; tokens < token_table_.size(); ++tokens) {
    const std::uint32_t rows = graphs_.padded(tokens);
    const double share = active_expert_share(operators_.experts, operators_.experts_per_token, rows);
    token_table_[tokens] = token_row(rows, share);
  }
  logits_table_.resize(settings_.max_num_seqs + 1);
  for (std::uint32_t rows = 1; rows < logits_table_.size(); ++rows) logits_table_[rows] = logits_row(rows);
}

double RooflineOracle::operator_seconds(const TokenOperator& op, std::uint32_t rows, double expert_share) const {
  const double weights = op.weight_bytes * (op.experts ? expert_share : 1);
  const double compute = op.flops_per_row * rows / peak_flops(gpu_, op.compute);
  const double memory = (weights + op.bytes_per_row * rows) / gpu_.memory_bandwidth;
  return op.count * times_.seconds(op.kind, compute, memory);
}

RooflineOracle::Row RooflineOracle::token_row(std::uint32_t tokens, double expert_share) const {
  Row row;
  for (const TokenOperator& op : operators_.per_token) row.token_ops += operator_seconds(op, tokens, expert_share);
  row.collective = operators_.all_reduces * all_reduce_seconds(operators_.all_reduce_bytes_per_token * tokens,
                                                               settings_.execution.tensor_parallel, link_bandwidth_,
                                                               gpu_.has_nvlink, settings_.efficiency);
  return row;
}

RooflineOracle::Row RooflineOracle::logits_row(std::uint32_t rows) const {
  Row row;
  for (const TokenOperator& op : operators_.per_logit) row.token_ops += operator_seconds(op, rows, 1);
  const std::uint32_t ranks = settings_.execution.tensor_parallel;
  if (ranks > 1) {  // all-gather: every GPU sends its part to all others
    const double latency = gpu_.has_nvlink ? 1 : settings_.efficiency.pcie_factor;
    row.collective =
        latency * settings_.efficiency.one_shot_seconds +
        (ranks - 1) * operators_.logits_gather_bytes_per_row * rows / (link_bandwidth_ * settings_.efficiency.link);
  }
  return row;
}

double RooflineOracle::decode_seconds(const AttentionRate& rate, double attended) const {
  return rate.shape.layers * times_.curve(KernelKind::kDecode).at(rate.per_decode_token * attended);
}

double RooflineOracle::attention_seconds(const BatchShape& shape) const {
  double seconds = 0;
  const TimeCurve& prefill = times_.curve(KernelKind::kPrefill);
  const double shared = shape.decodes > 0 ? std::min(prefill.least(), times_.curve(KernelKind::kDecode).least()) : 0;
  for (const AttentionRate& rate : attention_) {
    if (shape.decodes > 0) seconds += decode_seconds(rate, decode_attended(rate.shape, shape));
    if (shape.prefills.empty()) continue;
    double pairs = 0, tokens = 0;
    for (const PrefillChunk& chunk : shape.prefills) {
      pairs += attended_pairs(rate.shape.kind, rate.shape.window, chunk.context, chunk.query);
      tokens += attended_tokens(rate.shape.kind, rate.shape.window, chunk.context, chunk.query);
    }
    const double ideal =
        times_.ideal(KernelKind::kPrefill, rate.per_prefill_pair * pairs, rate.per_prefill_token * tokens);
    seconds += rate.shape.layers * (prefill.at(ideal) - shared);
  }
  return seconds;
}

void RooflineOracle::do_cost(const BatchShape& shape, DeviceState, StepCost& answer) const {
  host_.step(shape, graphs_.mode(shape), answer.host);
  const std::uint32_t tokens = shape.tokens();
  if (tokens == 0) return;
  const bool tabled = tokens < token_table_.size();
  const Row row =
      tabled ? token_table_[tokens]
             : token_row(tokens, active_expert_share(operators_.experts, operators_.experts_per_token, tokens));
  Row logits;
  if (shape.logits_rows > 0) {
    logits =
        shape.logits_rows < logits_table_.size() ? logits_table_[shape.logits_rows] : logits_row(shape.logits_rows);
  }
  answer.device.token_ops = row.token_ops + logits.token_ops;
  answer.device.collective = row.collective + logits.collective;
  answer.device.attention = attention_seconds(shape);
  answer.device.gaps = host_.gaps(graphs_.mode(shape), !shape.prefills.empty());
  answer.provenance.roofline = answer.device.total();
}

/// The same additions as do_cost, in the same order; only the contexts grow.
bool RooflineOracle::decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const {
  const std::uint32_t decodes = first.decodes;
  if (has_windows_ || !first.prefills.empty() || decodes == 0 || first.logits_rows != decodes ||
      decodes >= token_table_.size() || decodes >= logits_table_.size())
    return false;
  run = {};
  host_.step(first, graphs_.mode(first), run.host);
  run.share = {.roofline = 1};
  const double token_ops = token_table_[decodes].token_ops + logits_table_[decodes].token_ops;
  const double collective = token_table_[decodes].collective + logits_table_[decodes].collective;
  const double gaps = host_.gaps(graphs_.mode(first), false);
  std::fill(device_s.begin(), device_s.end(), 0.0);
  for (const AttentionRate& rate : attention_) {
    auto context = static_cast<std::int64_t>(first.decode_context + decodes);
    TimeCurve::Walk walk(times_.curve(KernelKind::kDecode), rate.per_decode_token * static_cast<double>(context));
    for (double& attention : device_s) {
      attention += rate.shape.layers * walk.at(rate.per_decode_token * static_cast<double>(context));
      context += decodes;
    }
  }
  for (double& seconds : device_s) seconds = DeviceTime{token_ops, seconds, collective, 0, gaps}.total();
  return true;
}

}  // namespace dooly::oracle
