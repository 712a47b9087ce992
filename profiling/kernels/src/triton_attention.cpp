#include "triton_attention.hpp"

#include "cuda_driver.hpp"
#include "profiling_kernels/compiled_shapes.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace dooly::profiling {

namespace {

using Json = nlohmann::json;
using Values = std::map<std::string_view, std::uint64_t>;

std::uint64_t pointer(const at::Tensor& tensor) { return reinterpret_cast<std::uint64_t>(tensor.data_ptr()); }
std::uint64_t number(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

struct Variant {
  std::int64_t queries_per_block = 1, segments = 1, padded_head_dim = 0;
  CompiledKernel whole, split, join;
};

/// What one call is about.
struct Call {
  at::Tensor q, k_cache, v_cache, query_start, sequence_lengths, block_table;
  std::int64_t max_query = 0;
  AttentionShape shape;
};

class Variants {
 public:
  explicit Variants(const std::string& folder) : shapes_(folder) {
    const std::string tables = folder + "/attention";
    std::ifstream file(tables + "/attention.json");
    if (!file) throw ProfilingError(tables + "/attention.json: cannot be read; scripts/triton-attention makes it");
    const Json root = Json::parse(file);
    for (const Json& table : root.at("tables")) {
      Variant& variant = variants_[{table.at("heads"), table.at("kv_heads"), table.at("head_dim"), table.at("window"),
                                    table.at("has_soft_cap"), table.at("block_size")}];
      variant.queries_per_block = table.at("queries_per_block");
      variant.segments = table.at("segments");
      variant.padded_head_dim = table.at("padded_head_dim");
      variant.whole = driver_.load(tables, table.at("whole"));
      variant.split = driver_.load(tables, table.at("split"));
      variant.join = driver_.load(tables, table.at("join"));
    }
  }

  at::Tensor run(const Call& call) const {
    const Variant& variant = variant_of(call.shape);
    const std::int64_t sequences = call.sequence_lengths.size(0), tokens = call.q.size(0);
    const at::Tensor out = at::empty_like(call.q, call.q.options(), at::MemoryFormat::Contiguous);
    Values values = values_of(call, out);
    // The query blocks of each sequence end with it; counted from above, as lengths are on the device.
    const std::int64_t blocks = tokens / variant.queries_per_block + sequences;
    if (call.max_query > 1 || sequences > triton_split_limit(call.shape.kv_heads)) {
      launch(variant.whole, {blocks, call.shape.kv_heads, 1}, values);
      return out;
    }
    const auto options = call.q.options().dtype(at::kFloat);
    const at::Tensor parts = at::empty({tokens, call.shape.heads, variant.segments, variant.padded_head_dim}, options);
    const at::Tensor maxima = at::empty({tokens, call.shape.heads, variant.segments}, options);
    const at::Tensor sums = at::empty_like(maxima);
    values.insert(
        {{"segm_output_ptr", pointer(parts)}, {"segm_max_ptr", pointer(maxima)}, {"segm_expsum_ptr", pointer(sums)}});
    launch(variant.split, {blocks, call.shape.kv_heads, variant.segments}, values);
    launch(variant.join, {tokens, call.shape.heads, 1}, values);
    return out;
  }

 private:
  const Variant& variant_of(const AttentionShape& shape) const {
    const auto found = variants_.find(
        {shape.heads, shape.kv_heads, shape.head_dim, shape.window, shape.soft_cap > 0 ? 1 : 0, shape.block_size});
    if (found == variants_.end()) throw ProfilingError(shapes_.refusal(shape));
    return found->second;
  }

  /// By the names of the kernels' arguments.
  static Values values_of(const Call& call, const at::Tensor& out) {
    return {{"output_ptr", pointer(out)},
            {"query_ptr", pointer(call.q)},
            {"key_cache_ptr", pointer(call.k_cache)},
            {"value_cache_ptr", pointer(call.v_cache)},
            {"block_tables_ptr", pointer(call.block_table)},
            {"seq_lens_ptr", pointer(call.sequence_lengths)},
            {"rswa_prefix_lens_ptr", pointer(call.sequence_lengths)},
            {"query_start_len_ptr", pointer(call.query_start)},
            {"scale", number(call.shape.scale)},
            {"out_scale", number(1.0)},
            {"out_scale_inv", number(1.0)},
            {"softcap", number(call.shape.soft_cap)},
            {"block_table_stride", number(call.block_table.stride(0))},
            {"query_stride_0", number(call.q.stride(0))},
            {"query_stride_1", number(call.q.stride(1))},
            {"output_stride_0", number(out.stride(0))},
            {"output_stride_1", number(out.stride(1))},
            {"qq_bias_stride_0", 0},
            {"stride_k_cache_0", number(call.k_cache.stride(0))},
            {"stride_k_cache_1", number(call.k_cache.stride(1))},
            {"stride_k_cache_2", number(call.k_cache.stride(2))},
            {"stride_v_cache_0", number(call.v_cache.stride(0))},
            {"stride_v_cache_1", number(call.v_cache.stride(1))},
            {"stride_v_cache_2", number(call.v_cache.stride(2))},
            {"num_seqs", number(call.sequence_lengths.size(0))}};
  }

  void launch(const CompiledKernel& kernel, const std::array<std::int64_t, 3>& grid, const Values& values) const {
    std::vector<std::uint64_t> ordered;
    for (const std::string& name : kernel.arguments) {
      const auto found = values.find(name);
      if (found == values.end()) throw ProfilingError(fmt::format("Triton attention: unknown argument {}", name));
      ordered.push_back(found->second);
    }
    driver_.launch(kernel, grid, std::move(ordered), "Triton attention");
  }

  CudaDriver driver_;
  CompiledShapes shapes_;
  std::map<std::vector<std::int64_t>, Variant> variants_;
};

using AttentionCall = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                 const at::Tensor&, const at::Tensor&, std::int64_t, double, std::int64_t, std::int64_t,
                                 double, std::string_view);

at::Tensor run_loaded(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& query_start,
                      const at::Tensor& sequence_lengths, const at::Tensor& block_table, std::int64_t max_query,
                      double softmax_scale, std::int64_t window_size_left, std::int64_t /*window_size_right*/,
                      double softcap, std::string_view folder) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, Variants, std::less<>>;  // as long as the modules
  const std::lock_guard lock(mutex);
  auto found = loaded->find(folder);
  if (found == loaded->end()) found = loaded->try_emplace(std::string(folder), std::string(folder)).first;
  AttentionShape shape;
  shape.heads = q.size(1);
  shape.kv_heads = k.size(2);
  shape.head_dim = q.size(2);
  shape.scale = softmax_scale;
  shape.window = window_size_left + 1;
  shape.soft_cap = softcap;
  shape.block_size = k.size(1);
  return found->second.run({q, k, v, query_start, sequence_lengths, block_table, max_query, shape});
}

c10::TypedOperatorHandle<AttentionCall> register_operator() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
  library->def(
      "triton_attention(Tensor q, Tensor k, Tensor v, Tensor query_start, Tensor sequence_lengths, Tensor block_table, "
      "int max_seqlen_q, float softmax_scale, int window_size_left, int window_size_right, float softcap, str folder) "
      "-> "
      "Tensor");
  library->impl("triton_attention", torch::dispatch(c10::DispatchKey::CUDA, run_loaded));
  return c10::Dispatcher::singleton().findSchemaOrThrow("dooly::triton_attention", "").typed<AttentionCall>();
}

class TritonAttention final : public VllmAttention {
 public:
  explicit TritonAttention(std::string folder) : folder_(std::move(folder)), shapes_(folder_) {}

  at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                 const AttentionMetadata& metadata, const AttentionShape& shape) const override {
    static const auto op = register_operator();
    return op.call(q, k_cache, v_cache, metadata.query_start, metadata.sequence_lengths, metadata.block_table,
                   metadata.max_query, shape.scale, shape.window - 1, shape.window > 0 ? 0 : -1, shape.soft_cap,
                   folder_);
  }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    std::string lacks = vllm_attention_refusal("triton", shape, type);
    return lacks.empty() ? shapes_.refusal(shape) : lacks;
  }

 private:
  std::string folder_;
  CompiledShapes shapes_;
};

}  // namespace

std::int64_t triton_split_limit(std::int64_t kv_heads) {
  constexpr std::int64_t kBlocksToFill = 128;
  const std::int64_t wanted = kBlocksToFill / kv_heads;
  // Captured sizes: 1, 2, 4, every 8 up to 256, every 16 beyond (vLLM's default); of two as near, the smaller.
  std::int64_t nearest = 1;
  const auto consider = [&](std::int64_t size) {
    if (std::abs(size - wanted) < std::abs(nearest - wanted)) nearest = size;
  };
  consider(2);
  consider(4);
  constexpr std::int64_t kStep = 8;
  for (std::int64_t size = kStep; size <= kBlocksToFill; size += kStep) consider(size);
  return nearest;
}

std::unique_ptr<VllmAttention> make_triton_attention(const std::string& folder) {
  return std::make_unique<TritonAttention>(folder);
}

}  // namespace dooly::profiling
