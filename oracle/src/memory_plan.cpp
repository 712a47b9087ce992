#include "oracle/memory_plan.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace dooly::oracle {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kGB = 1e9;

/// vLLM 0.26 runs mixtures of experts with its older model runner by default.
bool uses_older_runner(const ModelConfig& model) { return model.moe.has_value(); }

std::uint32_t model_length(const ModelConfig& model, const MemorySettings& settings) {
  return settings.max_model_len > 0 ? settings.max_model_len : model.max_position;
}

/// Rows of the widest moment of one layer: what a dense MLP or the experts keep at once.
double layer_peak_bytes(const ModelConfig& model, const LayerShape& layer, const MemorySettings& settings) {
  const double element = bytes_per_element(settings.dtype);
  const double tokens = settings.max_num_batched_tokens;
  const double tp = settings.tensor_parallel;
  const double up = model.gated_mlp ? 3 : 2;  // gate, up and their product, or up and its activation
  const double dense = tokens * up * (layer.moe ? model.moe->shared_intermediate : layer.intermediate) / tp * element;
  const double query =
      tokens * (layer.attention.heads + 2.0 * layer.attention.kv_heads) / tp * layer.attention.head_dim * 2 * element;
  if (!layer.moe) return std::max(dense, query);
  // Fused experts keep two buffers of tokens × k rows: max(gate and up, output) and the product.
  const double rows = tokens * model.moe->experts_per_token;
  const double width = model.moe->intermediate / tp;
  const double first = rows * std::max((up - 1) * width, double(model.hidden));
  return std::max({dense + (first + rows * width) * element, query});
}

/// Blocks that one request of `tokens` tokens takes at most while it runs (vLLM's max_memory_usage_bytes per group).
std::uint64_t blocks_for_request(const KvCacheLayout& layout, std::uint64_t tokens, std::uint64_t batched_tokens) {
  std::uint64_t blocks = 0;
  for (const KvCacheGroup& group : layout.groups) {
    std::uint64_t held = tokens;
    std::uint64_t extra = 0;
    if (group.kind == AttentionKind::kSlidingWindow) {
      held = std::min<std::uint64_t>(group.window - 1 + batched_tokens, tokens);
      extra = 1;  // the window need not begin at a block's start
    } else if (group.kind == AttentionKind::kChunkedLocal) {
      held = std::min<std::uint64_t>(group.window + batched_tokens, tokens);
    }
    blocks += (held + group.block_tokens - 1) / group.block_tokens + extra;
  }
  return blocks;
}

MemoryPlan sum_up(const ModelConfig& model, const Gpu& gpu, const MemorySettings& settings) {
  MemoryPlan plan;
  const std::uint32_t tp = settings.tensor_parallel;
  plan.lines.push_back({"GPU memory taken", settings.utilisation * gpu.memory_bytes,
                        fmt::format("{} × {:.2f} GiB of {}", settings.utilisation, gpu.memory_bytes / kGiB, gpu.name)});
  plan.lines.push_back({"weights", -double(weight_bytes_per_gpu(model, tp, settings.dtype)),
                        fmt::format("{}, {}{}, tensor parallel {}", model.name,
                                    model.linear_format || model.expert_format ? "quantised, the rest " : "",
                                    dtype_name(settings.dtype), tp)});
  plan.lines.push_back(
      {"activation peak", -activation_peak_bytes(model, settings),
       fmt::format("{} tokens, {} sampled requests", settings.max_num_batched_tokens, settings.max_num_seqs)});
  plan.lines.push_back({"overhead", -overhead_bytes(model, gpu, settings),
                        tp > 1 ? "CUDA context, libraries, NCCL (rough)" : "CUDA context, libraries"});
  for (const MemoryPlan::Line& line : plan.lines) plan.kv_bytes += line.bytes;
  plan.layout = kv_cache_layout(model, tp, settings.kv_dtype, settings.block_size);
  return plan;
}

/// Bytes that are missing for the weights and one request of the full length; at most 0 if it fits.
double missing_bytes(const MemoryPlan& plan, const ModelConfig& model, const MemorySettings& settings) {
  const std::uint64_t blocks =
      blocks_for_request(plan.layout, model_length(model, settings), settings.max_num_batched_tokens) + 1;
  return double(blocks) * double(plan.layout.block_bytes) - plan.kv_bytes;
}

/// 0 if no power of two up to 64 fits.
std::uint32_t smallest_fitting(const ModelConfig& model, const Gpu& gpu, MemorySettings settings) {
  for (std::uint32_t tp = settings.tensor_parallel * 2; tp <= 64; tp *= 2) {
    settings.tensor_parallel = tp;
    try {
      if (missing_bytes(sum_up(model, gpu, settings), model, settings) <= 0) return tp;
    } catch (const OracleError&) {
      return 0;  // it cannot be split any further
    }
  }
  return 0;
}

[[noreturn]] void refuse(const MemoryPlan& plan, double missing, const ModelConfig& model, const Gpu& gpu,
                         const MemorySettings& settings) {
  const std::uint32_t tp = smallest_fitting(model, gpu, settings);
  const std::string way_out = tp > 0 ? fmt::format("the smallest tensor parallel size that fits is {}", tp)
                                     : std::string("no tensor parallel size up to 64 fits");
  const double taken = plan.lines.front().bytes / kGB;
  if (plan.kv_bytes < double(plan.layout.block_bytes)) {
    throw OracleError(fmt::format(
        "model {} does not fit on {} with tensor parallel {}: weights {:.1f} GB, activations and overhead {:.1f} GB, "
        "KV of one request of {} tokens {:.1f} GB, {:.1f} GB may be used; {:.1f} GB are missing; {}",
        model.name, gpu.name, settings.tensor_parallel, -plan.lines[1].bytes / kGB,
        -(plan.lines[2].bytes + plan.lines[3].bytes) / kGB, model_length(model, settings),
        (missing + plan.kv_bytes) / kGB, taken, missing / kGB, way_out));
  }
  throw OracleError(fmt::format(
      "model {} on {} with tensor parallel {}: the KV cache of {:.1f} GB cannot hold one request of max_model_len {}; "
      "{:.1f} GB are missing; lower max_model_len, or: {}",
      model.name, gpu.name, settings.tensor_parallel, plan.kv_bytes / kGB, model_length(model, settings), missing / kGB,
      way_out));
}

void check_settings(const MemorySettings& settings) {
  if (!(settings.utilisation > 0 && settings.utilisation <= 1)) {
    throw OracleError(fmt::format("gpu_memory_utilization: must be in (0, 1], got {}", settings.utilisation));
  }
  if (settings.max_num_batched_tokens == 0) throw OracleError("max_num_batched_tokens: must be at least 1, got 0");
  if (settings.max_num_seqs == 0) throw OracleError("max_num_seqs: must be at least 1, got 0");
}

}  // namespace

double activation_peak_bytes(const ModelConfig& model, const MemorySettings& settings) {
  // Start-up runs one forward pass over all batched tokens and samples for max_num_seqs requests. While sampling the
  // hidden states (before and after the last norm) live beside the logits: in the current runner as float32 twice; in
  // the older one as 16-bit, as float32, sorted, and as 64-bit ranks of the sort (4.5 × float32).
  const double hidden = 2.0 * settings.max_num_batched_tokens * model.hidden * bytes_per_element(settings.dtype);
  const double logits = double(settings.max_num_seqs) * model.vocabulary * 4;
  const double sampling = hidden + (uses_older_runner(model) ? 4.5 : 2.0) * logits;
  double forward = 0;
  for (const LayerShape& layer : model.layer_classes()) {
    forward = std::max(forward, hidden + layer_peak_bytes(model, layer, settings));
  }
  return std::max(sampling, forward);
}

double overhead_bytes(const ModelConfig& model, const Gpu& gpu, const MemorySettings& settings) {
  // Measured with vLLM 0.26 on an H200: 0.22 GiB, 0.24 with the older runner, which also sets an estimate of 0.64 GiB
  // for CUDA graphs aside. NCCL and the all-reduce buffers, rough, from start-up logs of other machines: 1.2 GiB with
  // NVLink, 0.12 over PCIe.
  double bytes = 0.22 * kGiB;
  if (uses_older_runner(model)) bytes += (0.02 + 0.64) * kGiB;
  if (settings.tensor_parallel > 1) bytes += (gpu.has_nvlink ? 1.2 : 0.12) * kGiB;
  return bytes;
}

MemoryPlan plan_memory(const ModelConfig& model, const Gpu& gpu, const MemorySettings& settings) {
  check_settings(settings);
  check_tensor_parallel(model, settings.tensor_parallel);
  MemoryPlan plan = sum_up(model, gpu, settings);
  const double missing = missing_bytes(plan, model, settings);
  if (missing > 0) refuse(plan, missing, model, gpu, settings);
  const double blocks = std::floor(plan.kv_bytes / double(plan.layout.block_bytes));
  plan.blocks = static_cast<std::uint32_t>(std::min(blocks, 4294967295.0));
  plan.tokens_if_full = std::uint64_t{plan.blocks} * settings.block_size / plan.layout.groups.size();
  return plan;
}

}  // namespace dooly::oracle
