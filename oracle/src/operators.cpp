#include "oracle/operators.hpp"

#include "oracle/step_plan.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace dooly::oracle {

namespace {

std::uint32_t attribute(const OperatorKey& key, const char* name) {
  const auto found = key.attributes.find(name);
  if (found == key.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? 0 : static_cast<std::uint32_t>(*value);
}

AttentionOperator attention_of(const PlanEntry& entry) {
  AttentionOperator op;
  const std::uint32_t chunk = attribute(entry.key, "chunk");
  // An indexer lets a query see so many tokens as a window does.
  op.window = std::max({attribute(entry.key, "window"), chunk, attribute(entry.key, "top_k")});
  if (op.window > 0) op.kind = chunk > 0 ? AttentionKind::kChunkedLocal : AttentionKind::kSlidingWindow;
  op.layers = entry.count;
  op.prefill_flops_per_pair = entry.flops_per_token;
  op.decode_flops_per_pair = entry.decode_flops_per_pair;
  op.kv_bytes_per_token = entry.bytes_per_token;
  return op;
}

/// The format that a product is computed in: that of its weights.
DType compute_dtype(const PlanEntry& entry, DType fallback) {
  if (entry.key.dtypes.size() < 2 || entry.weight_bytes == 0) return fallback;
  return parse_dtype(entry.key.dtypes[1] == "fp8_block" ? "fp8" : entry.key.dtypes[1]);
}

TokenOperator token_operator(const PlanEntry& entry, DType dtype) {
  const bool experts = entry.binding == Binding::kExperts;
  return {entry.name,
          entry.count,
          entry.flops_per_token,
          entry.weight_bytes,
          entry.bytes_per_token,
          compute_dtype(entry, dtype),
          experts,
          kernel_kind(entry)};
}

void add_collective(const PlanEntry& entry, StepOperators& out) {
  if (entry.per_row) {
    out.logits_gather_bytes_per_row = entry.bytes_per_token;
    return;
  }
  out.all_reduces += entry.count;
  out.all_reduce_bytes_per_token = entry.bytes_per_token;
}

/// Σ of the tokens that positions 1 … `end` attend to.
double attended_up_to(AttentionKind kind, std::uint32_t window, std::uint64_t end) {
  const double x = static_cast<double>(end);
  const double w = window;
  switch (kind) {
    case AttentionKind::kFull: break;
    case AttentionKind::kSlidingWindow:
      if (end > window) return w * (w + 1) / 2 + (x - w) * w;
      break;
    case AttentionKind::kChunkedLocal: {
      const double chunks = static_cast<double>(end / window);
      const double rest = static_cast<double>(end % window);
      return chunks * w * (w + 1) / 2 + rest * (rest + 1) / 2;
    }
  }
  return x * (x + 1) / 2;
}

/// Smallest possible Σ min(x, w) over n numbers of that mean and second moment (Scarf's bound on E(x − w)⁺).
double windowed_sum(double n, double sum, double squares, double w) {
  const double mean = sum / n;
  const double second = std::max(squares / n, mean * mean);
  if (second > 2 * w * mean) return n * w * mean * mean / second;
  const double variance = second - mean * mean;
  const double overflow = (std::sqrt(variance + (w - mean) * (w - mean)) - (w - mean)) / 2;
  return n * std::max(0.0, mean - overflow);
}

}  // namespace

KernelKind kernel_kind(const PlanEntry& entry) {
  if (entry.binding == Binding::kAttention) return KernelKind::kDecode;
  const std::string weights = entry.key.dtypes.size() < 2 ? "" : entry.key.dtypes[1];
  const bool has_8_bits = weights.starts_with("fp8") || weights == "int8";
  const bool has_4_bits = weights == "mxfp4" || weights == "int4";
  if (entry.binding == Binding::kExperts)
    return has_8_bits ? KernelKind::kExperts8 : has_4_bits ? KernelKind::kExperts4 : KernelKind::kExperts;
  if (entry.key.kind != "linear" && entry.key.kind != "bmm") return KernelKind::kElementwise;
  return has_8_bits ? KernelKind::kLinear8 : KernelKind::kLinear;
}

StepOperators step_operators(const ModelConfig& model, const ExecutionSettings& settings) {
  PlanSettings plan_settings;
  plan_settings.tensor_parallel = settings.tensor_parallel;
  plan_settings.dtype = dtype_name(settings.dtype);
  plan_settings.kv_dtype = dtype_name(settings.kv_dtype);
  StepOperators out;
  for (const PlanEntry& entry : make_plan(model, plan_settings).entries) {
    switch (entry.binding) {
      // Latent attention's projections cost the same FLOPs for tokens that are expanded and absorbed for.
      case Binding::kPrefillTokens:
      case Binding::kExperts:
      case Binding::kTokens: out.per_token.push_back(token_operator(entry, settings.dtype)); break;
      case Binding::kDecodeTokens: break;
      case Binding::kLogitsRows: out.per_logit.push_back(token_operator(entry, settings.dtype)); break;
      case Binding::kAttention: out.attention.push_back(attention_of(entry)); break;
      case Binding::kCollective: add_collective(entry, out); break;
    }
  }
  if (model.moe) {
    out.experts = model.moe->experts;
    out.experts_per_token = model.moe->experts_per_token;
  }
  return out;
}

double active_expert_share(std::uint32_t experts, std::uint32_t experts_per_token, std::uint32_t tokens) {
  if (experts == 0) return 1;
  double base = 1 - double(experts_per_token) / experts;
  double missed = 1;
  for (std::uint32_t power = tokens; power > 0; power >>= 1) {  // by squaring: the same on every machine
    if (power & 1) missed *= base;
    base *= base;
  }
  return 1 - missed;
}

double attended_pairs(AttentionKind kind, std::uint32_t window, std::uint64_t context, std::uint64_t query) {
  return attended_up_to(kind, window, context + query) - attended_up_to(kind, window, context);
}

double attended_tokens(AttentionKind kind, std::uint32_t window, std::uint64_t context, std::uint64_t query) {
  switch (kind) {
    case AttentionKind::kFull: break;
    case AttentionKind::kSlidingWindow:
      return static_cast<double>(query + std::min<std::uint64_t>(context, window - 1));
    case AttentionKind::kChunkedLocal: return static_cast<double>(query + context % window);
  }
  return static_cast<double>(query + context);
}

double decode_attended(const AttentionOperator& attention, const BatchShape& shape) {
  if (shape.decodes == 0) return 0;
  const double n = shape.decodes;
  const double context = static_cast<double>(shape.decode_context);
  const double sum = context + n;
  if (attention.kind == AttentionKind::kFull) return sum;
  const double squares = static_cast<double>(shape.decode_context_squares) + 2 * context + n;
  const double window = attention.kind == AttentionKind::kSlidingWindow ? attention.window : attention.window / 2.0;
  return windowed_sum(n, sum, squares, window);
}

Work step_work(const StepOperators& operators, const BatchShape& shape) {
  Work work;
  const double share = active_expert_share(operators.experts, operators.experts_per_token, shape.tokens());
  const auto add = [&](const std::vector<TokenOperator>& list, double rows) {
    for (const TokenOperator& op : list) {
      work.flops += op.count * op.flops_per_row * rows;
      work.bytes += op.count * (op.weight_bytes * (op.experts ? share : 1) + op.bytes_per_row * rows);
    }
  };
  if (!shape.empty()) add(operators.per_token, shape.tokens());
  if (shape.logits_rows > 0) add(operators.per_logit, shape.logits_rows);
  for (const AttentionOperator& op : operators.attention) {
    const double decode = decode_attended(op, shape);
    work.flops += op.layers * op.decode_flops_per_pair * decode;
    work.bytes += op.layers * op.kv_bytes_per_token * decode;
    for (const PrefillChunk& chunk : shape.prefills) {
      work.flops +=
          op.layers * op.prefill_flops_per_pair * attended_pairs(op.kind, op.window, chunk.context, chunk.query);
      work.bytes += op.layers * op.kv_bytes_per_token * attended_tokens(op.kind, op.window, chunk.context, chunk.query);
    }
  }
  return work;
}

}  // namespace dooly::oracle
