#include "flashinfer_plan.hpp"

#include "cuda_driver.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace dooly::profiling {

namespace {

constexpr std::int64_t kSpaceBytes = 1 << 20;  ///< of one plan; the engine reserves 8 MB for all
constexpr std::size_t kWords = 256;
constexpr std::int64_t kMark = 0x64666970;

/// What a wrapped plan's tensor holds.
struct Wrapped {
  std::int64_t mark = kMark;
  FlashInferPlan plan;
};

std::vector<std::int32_t> on_host(const at::Tensor& tensor) {
  const at::Tensor copy = tensor.contiguous().cpu();
  const auto* first = copy.const_data_ptr<std::int32_t>();
  return {first, first + copy.numel()};
}

at::Tensor on_device(const std::vector<std::int32_t>& values, const at::Device& device) {
  auto* data = const_cast<std::int32_t*>(values.data());
  return at::from_blob(data, {static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kInt)).to(device);
}

}  // namespace

struct FlashInferPlan::Batch {
  std::vector<std::int32_t> query_start, lengths, block_table;
  std::size_t table_width = 0;
  at::Device device;

  std::int32_t query(std::size_t request) const { return query_start[request + 1] - query_start[request]; }
};

FlashInferPlan::FlashInferPlan(const FlashInferLibrary& library, const AttentionMetadata& metadata,
                               const AttentionShape& shape, const at::Tensor& float_space) {
  const Batch batch{on_host(metadata.query_start), on_host(metadata.sequence_lengths), on_host(metadata.block_table),
                    static_cast<std::size_t>(metadata.block_table.size(1)), metadata.query_start.device()};
  const std::size_t requests = batch.lengths.size();
  std::size_t first_prompt = 0;
  while (first_prompt < requests && batch.query(first_prompt) == 1) ++first_prompt;
  for (std::size_t i = first_prompt; i < requests; ++i) {
    if (batch.query(i) == 1) throw ProfilingError("FlashInfer: decodes must come before prompts in a batch");
  }
  const bool is_captured = first_prompt == requests && static_cast<std::int64_t>(requests) <= kGraphTokens;
  decodes_ = part(batch, 0, first_prompt, library.plan_decode(), is_captured, shape, float_space);
  prompts_ = part(batch, first_prompt, requests, library.plan_prefill(), false, shape, float_space);
}

FlashInferPlan::Part FlashInferPlan::part(const Batch& batch, std::size_t from, std::size_t to,
                                          DoolyFlashInferPlan function, bool is_captured, const AttentionShape& shape,
                                          const at::Tensor& float_space) const {
  Part made;
  if (from == to) return made;
  const auto block = static_cast<std::int32_t>(shape.block_size);
  std::vector<std::int32_t> query_start = {0}, page_start = {0}, pages, last, lengths;
  for (std::size_t i = from; i < to; ++i) {
    const std::int32_t length = batch.lengths[i], count = (length + block - 1) / block;
    const auto row = batch.block_table.begin() + static_cast<std::ptrdiff_t>(i * batch.table_width);
    pages.insert(pages.end(), row, row + count);
    query_start.push_back(query_start.back() + batch.query(i));
    page_start.push_back(page_start.back() + count);
    last.push_back(length - (count - 1) * block);
    lengths.push_back(length);
  }
  made.first_token = batch.query_start[from];
  made.tokens = query_start.back();
  made.requests = static_cast<std::int64_t>(to - from);
  made.query_start = on_device(query_start, batch.device);
  made.page_start = on_device(page_start, batch.device);
  made.pages = on_device(pages, batch.device);
  made.last_page_tokens = on_device(last, batch.device);
  made.space = at::empty({kSpaceBytes}, at::TensorOptions(batch.device).dtype(at::kByte));
  std::vector<char> staging(static_cast<std::size_t>(kSpaceBytes));
  DoolyFlashInferPlanning planning{query_start.data(),    page_start.data(),
                                   lengths.data(),        made.requests,
                                   shape.heads,           shape.kv_heads,
                                   shape.head_dim,        shape.block_size,
                                   is_captured ? 1 : 0,   float_space.data_ptr(),
                                   made.space.data_ptr(), staging.data(),
                                   float_space.numel(),   kSpaceBytes,
                                   current_cuda_stream(), {}};
  std::string why(kWords, '\0');
  check_flashinfer(function(&planning, why.data(), kWords), "plan", why);
  std::copy(std::begin(planning.numbers), std::end(planning.numbers), made.numbers.begin());
  return made;
}

at::Tensor FlashInferPlan::wrapped(FlashInferPlan plan) {
  const auto kept = std::make_shared<Wrapped>(Wrapped{kMark, std::move(plan)});
  constexpr auto kNumbers = static_cast<std::int64_t>(sizeof(Wrapped) / sizeof(std::int64_t));
  return at::from_blob(
      kept.get(), {kNumbers}, [kept](void*) {}, at::TensorOptions(at::kLong));
}

const FlashInferPlan& FlashInferPlan::plan_in(const at::Tensor& tensor) {
  const auto* wrapped = static_cast<const Wrapped*>(tensor.const_data_ptr());
  if (!tensor.device().is_cpu() || tensor.scalar_type() != at::kLong || wrapped->mark != kMark) {
    throw ProfilingError("FlashInfer: the schedule of a step is not one that it made");
  }
  return wrapped->plan;
}

void check_flashinfer(int status, const char* what, const std::string& why) {
  if (status < 0) throw std::runtime_error(fmt::format("FlashInfer: {}: {}", what, why.c_str()));
  if (status > 0) throw std::runtime_error(fmt::format("FlashInfer: {}: CUDA error {}", what, status));
}

}  // namespace dooly::profiling
