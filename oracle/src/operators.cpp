#include "oracle/operators.hpp"

#include "oracle/kv_layout.hpp"
#include "oracle/weights.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {

namespace {

/// Collects the operators of one model on one GPU.
class Builder {
 public:
  Builder(const ModelConfig& model, const ExecutionSettings& settings)
      : model_(model),
        settings_(settings),
        tp_(settings.tensor_parallel),
        element_(bytes_per_element(settings.dtype)) {}

  StepOperators build() {
    if (model_.moe) {
      out_.experts = model_.moe->experts;
      out_.experts_per_token = model_.moe->experts_per_token;
    }
    elementwise("embedding", 1, 2.0 * model_.hidden);
    for (const LayerShape& layer : model_.layer_classes()) add_layer(layer);
    elementwise("final norm", 1, 4.0 * model_.hidden);
    add_logits();
    if (tp_ > 1) {
      std::uint32_t layers = 0;
      for (const LayerShape& layer : model_.layers) layers += layer.count;
      out_.all_reduces = 2 * layers + 1;  // attention and MLP outputs, embedding
      out_.all_reduce_bytes_per_token = model_.hidden * element_;
    }
    return std::move(out_);
  }

 private:
  void add_layer(const LayerShape& layer) {
    elementwise("norm", layer.count * model_.norms_per_layer, 4.0 * model_.hidden);  // with the residual sum
    if (model_.mla) {
      add_latent_attention(layer);
    } else {
      add_attention(layer);
    }
    if (layer.moe) {
      add_experts(layer.count);
    } else {
      add_mlp(layer.intermediate / tp_, layer.count);
    }
  }

  void add_attention(const LayerShape& layer) {
    const AttentionShape& shape = layer.attention;
    const double query = double(shape.heads / tp_) * shape.head_dim;
    const double key = double(kv_heads_per_gpu(shape, tp_)) * shape.head_dim;
    const double kv_bytes = kv_bytes_per_token(model_, layer, tp_, settings_.kv_dtype);
    linear("qkv projection", layer.count, model_.hidden, query + (shape.value_is_key ? 1 : 2) * key);
    elementwise("rotary and cache write", layer.count, 2 * (query + key) + 2 * key, kv_bytes);
    linear("output projection", layer.count, query, model_.hidden);
    // QKᵀ and PV: a multiplication and an addition for each number of a head, twice.
    out_.attention.push_back({shape.kind, shape.window, layer.count, 4 * query, 4 * query, kv_bytes});
  }

  /// Prefill expands the latent to heads; decode multiplies with the absorbed projections and stays in the latent.
  void add_latent_attention(const LayerShape& layer) {
    const MlaShape& mla = *model_.mla;
    const double heads = layer.attention.heads / tp_;
    const double query = heads * (mla.qk_nope_dim + mla.qk_rope_dim);
    const double latent = double(mla.kv_lora_rank) + mla.qk_rope_dim;
    if (mla.q_lora_rank > 0) {
      linear("query down-projection", layer.count, model_.hidden, mla.q_lora_rank);
      linear("query up-projection", layer.count, mla.q_lora_rank, query);
    } else {
      linear("query projection", layer.count, model_.hidden, query);
    }
    linear("latent down-projection", layer.count, model_.hidden, latent);
    linear("latent up-projection", layer.count, mla.kv_lora_rank, heads * (mla.qk_nope_dim + mla.v_dim));
    const double kv_bytes = latent * (settings_.kv_dtype == DType::kFp8 ? 1 : bytes_per_element(settings_.kv_dtype));
    elementwise("rotary and cache write", layer.count, 2 * heads * mla.qk_rope_dim + latent, kv_bytes);
    linear("output projection", layer.count, heads * mla.v_dim, model_.hidden);
    AttentionOperator attention{layer.attention.kind,
                                layer.attention.window,
                                layer.count,
                                2 * (query + heads * mla.v_dim),
                                2 * heads * (latent + mla.kv_lora_rank),
                                kv_bytes};
    if (mla.index_heads > 0) add_indexer(layer, attention);
    out_.attention.push_back(attention);
  }

  /// The indexer scores every earlier token; attention then sees the best `index_top_k` of them.
  void add_indexer(const LayerShape& layer, AttentionOperator& attention) {
    const MlaShape& mla = *model_.mla;
    const double width = double(mla.index_heads) * mla.index_dim;
    linear("index query projection", layer.count, mla.q_lora_rank, width);
    linear("index key projection", layer.count, model_.hidden, mla.index_dim);
    const double key_bytes = kv_bytes_per_token(model_, layer, tp_, settings_.kv_dtype) - attention.kv_bytes_per_token;
    out_.attention.push_back({AttentionKind::kFull, 0, layer.count, 2 * width, 2 * width, key_bytes});
    attention.kind = AttentionKind::kSlidingWindow;
    attention.window = mla.index_top_k;
  }

  void add_mlp(double width, std::uint32_t count) {
    if (width == 0) return;
    linear(model_.gated_mlp ? "gate and up projection" : "up projection", count, model_.hidden,
           (model_.gated_mlp ? 2 : 1) * width);
    elementwise("activation", count, (model_.gated_mlp ? 3 : 2) * width);
    linear("down projection", count, width, model_.hidden);
  }

  void add_experts(std::uint32_t count) {
    const MoeShape& moe = *model_.moe;
    const double width = double(moe.intermediate) / tp_;
    const double up = (model_.gated_mlp ? 2 : 1) * width;
    linear("router", count, model_.hidden, moe.experts, false);
    expert("experts' gate and up projection", count, model_.hidden, up);
    elementwise("experts' activation", count, moe.experts_per_token * (up + width));
    expert("experts' down projection", count, width, model_.hidden);
    elementwise("experts' weighted sum", count, (moe.experts_per_token + 1.0) * model_.hidden);
    add_mlp(double(moe.shared_intermediate) / tp_, count);
  }

  void add_logits() {
    const double vocabulary = double(padded_vocabulary(model_)) / tp_;
    out_.per_logit.push_back({"output head", 1, 2.0 * model_.hidden * vocabulary, model_.hidden * vocabulary * element_,
                              (model_.hidden + vocabulary) * element_, settings_.dtype, false});
    // Every GPU samples from the gathered logits: widened to 4 bytes, written, and read for the arg max.
    const double row = double(padded_vocabulary(model_)) * (element_ + 4 + 4);
    out_.per_logit.push_back({"sampling", 1, 0, 0, row, settings_.dtype, false});
    if (tp_ > 1) out_.logits_gather_bytes_per_row = vocabulary * element_;
  }

  void linear(std::string_view name, std::uint32_t count, double in, double out, bool quantised = true) {
    const DType format = quantised ? model_.linear_format.value_or(settings_.dtype) : settings_.dtype;
    out_.per_token.push_back(
        {name, count, 2 * in * out, in * out * bytes_per_element(format), (in + out) * element_, format, false});
  }

  void expert(std::string_view name, std::uint32_t count, double in, double out) {
    const MoeShape& moe = *model_.moe;
    const DType format = model_.expert_format.value_or(settings_.dtype);
    out_.per_token.push_back({name, count, 2 * in * out * moe.experts_per_token,
                              in * out * bytes_per_element(format) * moe.experts,
                              (in + out) * moe.experts_per_token * element_, format, true});
  }

  void elementwise(std::string_view name, std::uint32_t count, double elements, double more_bytes = 0) {
    out_.per_token.push_back({name, count, 0, 0, elements * element_ + more_bytes, settings_.dtype, false});
  }

  const ModelConfig& model_;
  const ExecutionSettings& settings_;
  std::uint32_t tp_;
  double element_;
  StepOperators out_;
};

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

StepOperators step_operators(const ModelConfig& model, const ExecutionSettings& settings) {
  check_tensor_parallel(model, settings.tensor_parallel);
  return Builder(model, settings).build();
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
