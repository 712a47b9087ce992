#include "flashinfer_attention.hpp"

#include "cuda_driver.hpp"
#include "flashinfer_library.hpp"
#include "flashinfer_plan.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <fmt/format.h>

#include <string_view>

namespace dooly::profiling {

namespace {

constexpr std::int64_t kFloatSpaceBytes = std::int64_t{394} << 20;  ///< VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE
constexpr std::size_t kWords = 256;

/// One for the process, as the operator is.
const FlashInferLibrary& library_in(std::string_view folder) {
  static const auto* const library = new FlashInferLibrary(std::string(folder));
  return *library;
}

at::Tensor float_space() {
  static const auto* const space =
      new at::Tensor(at::empty({kFloatSpaceBytes}, at::TensorOptions(at::kCUDA).dtype(at::kByte)));
  return *space;
}

struct Call {
  at::Tensor q, k, v, out;
  double scale = 0, soft_cap = 0;
};

void launch(DoolyFlashInferLaunch function, const char* phase, const Call& call, const FlashInferPlan::Part& part) {
  if (part.requests == 0) return;
  const at::Tensor q = call.q.narrow(0, part.first_token, part.tokens);
  const at::Tensor out = call.out.narrow(0, part.first_token, part.tokens);
  const DoolyFlashInferRun run{.q = q.data_ptr(),
                               .out = out.data_ptr(),
                               .k_cache = call.k.data_ptr(),
                               .v_cache = call.v.data_ptr(),
                               .query_start = part.query_start.mutable_data_ptr<std::int32_t>(),
                               .page_start = part.page_start.mutable_data_ptr<std::int32_t>(),
                               .pages = part.pages.mutable_data_ptr<std::int32_t>(),
                               .last_page_tokens = part.last_page_tokens.mutable_data_ptr<std::int32_t>(),
                               .tokens = part.tokens,
                               .requests = part.requests,
                               .heads = q.size(1),
                               .kv_heads = call.k.size(2),
                               .page_size = call.k.size(1),
                               .q_stride = q.stride(0),
                               .q_head_stride = q.stride(1),
                               .out_stride = out.stride(0),
                               .out_head_stride = out.stride(1),
                               .page_stride = call.k.stride(0),
                               .token_stride = call.k.stride(1),
                               .head_stride = call.k.stride(2),
                               .scale = call.scale,
                               .soft_cap = call.soft_cap,
                               .float_space = float_space().data_ptr(),
                               .int_space = part.space.data_ptr(),
                               .numbers = part.numbers.data(),
                               .stream = current_cuda_stream()};
  if (function == nullptr) {
    throw ProfilingError(fmt::format("FlashInfer: no {} kernel is compiled for heads of {}", phase, q.size(2)));
  }
  std::string why(kWords, '\0');
  check_flashinfer(function(&run, why.data(), kWords), phase, why);
}

using AttentionCall = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, double,
                                 std::int64_t, std::int64_t, double, std::string_view);

at::Tensor run_planned(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& schedule,
                       double softmax_scale, std::int64_t /*window_size_left*/, std::int64_t /*window_size_right*/,
                       double softcap, std::string_view folder) {
  const FlashInferLibrary& library = library_in(folder);
  const FlashInferPlan& plan = FlashInferPlan::plan_in(schedule);
  const at::Tensor out = at::empty_like(q, q.options(), at::MemoryFormat::Contiguous);
  const Call call{q, k, v, out, softmax_scale, softcap};
  const bool has_cap = softcap > 0;
  launch(library.decode(q.size(2), has_cap), "decode", call, plan.decodes());
  launch(library.prefill(q.size(2), has_cap), "prefill", call, plan.prompts());
  return out;
}

c10::TypedOperatorHandle<AttentionCall> register_operator() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
  library->def(
      "flashinfer_attention(Tensor q, Tensor k, Tensor v, Tensor schedule, float softmax_scale, int window_size_left, "
      "int window_size_right, float softcap, str folder) -> Tensor");
  library->impl("flashinfer_attention", torch::dispatch(c10::DispatchKey::CUDA, run_planned));
  return c10::Dispatcher::singleton().findSchemaOrThrow("dooly::flashinfer_attention", "").typed<AttentionCall>();
}

class FlashInferAttention final : public VllmAttention {
 public:
  explicit FlashInferAttention(std::string folder) : folder_(std::move(folder)), library_(library_in(folder_)) {}

  at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                 const AttentionMetadata& metadata, const AttentionShape& shape) const override {
    static const auto op = register_operator();
    const at::Tensor plan =
        metadata.schedule.defined() ? metadata.schedule : schedule(metadata, shape, q.scalar_type());
    return op.call(q, k_cache, v_cache, plan, shape.scale, -1, -1, shape.soft_cap, folder_);
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape,
                      at::ScalarType /*type*/) const override {
    return FlashInferPlan::wrapped(FlashInferPlan(library_, metadata, shape, float_space()));
  }

  std::map<std::string, std::string> libraries() const override { return {{"flashinfer", library_.version()}}; }

  bool can_be_captured() const override { return false; }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    if (std::string lacks = vllm_attention_refusal("flashinfer", shape, type); !lacks.empty()) return lacks;
    const bool has_cap = shape.soft_cap > 0;
    if (library_.decode(shape.head_dim, has_cap) == nullptr || library_.prefill(shape.head_dim, has_cap) == nullptr) {
      return fmt::format("FlashInfer: heads of {} {} soft cap are not compiled; scripts/flashinfer-kernels does",
                         shape.head_dim, has_cap ? "with a" : "without");
    }
    return {};
  }

 private:
  std::string folder_;
  const FlashInferLibrary& library_;
};

}  // namespace

std::unique_ptr<VllmAttention> make_flashinfer_attention(const std::string& folder) {
  return std::make_unique<FlashInferAttention>(folder);
}

}  // namespace dooly::profiling
