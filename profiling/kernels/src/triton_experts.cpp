#include "triton_experts.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>

#include <fmt/format.h>
#include <torch/library.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>

namespace dooly::profiling {

namespace {

using Json = nlohmann::json;

std::int64_t blocks_of(std::int64_t rows, std::int64_t block) { return (rows + block - 1) / block; }

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw ProfilingError(path + ": cannot be read; scripts/triton-experts makes it");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

/// The two products for one tile configuration; `naive` ones where few tokens need no sorting.
struct TritonExperts::Config {
  std::int64_t block_m = 0, block_n = 0;
  CompiledKernel up, down;
  std::optional<CompiledKernel> up_naive, down_naive;
};

struct TritonExperts::Shape {
  bool nearest = false;  ///< choose the nearest token count, else the largest not above
  std::map<std::int64_t, Config> configs;  ///< by tokens
};

/// Which expert each block of rows belongs to.
struct TritonExperts::Assignment {
  at::Tensor sorted_rows, block_experts, padded_rows;
  std::int64_t launched_rows = 0;  ///< EM of the kernel
  bool naive = false;
};

TritonExperts::TritonExperts(const std::string& folder) {
  const std::string path = folder + "/experts.json";
  try {
    const Json root = Json::parse(file_bytes(path));
    const auto kernel_of = [&](const Json& in) { return driver_.load(folder, in); };
    for (const Json& table : root.at("tables")) {
      Shape& shape = shapes_[{table.at("experts"), table.at("width"), table.at("hidden"), table.at("top_k")}];
      shape.nearest = table.at("choice") == "nearest";
      for (const Json& in : table.at("configs")) {
        Config& config = shape.configs[in.at("tokens").get<std::int64_t>()];
        config.block_m = in.at("tile").at("BLOCK_SIZE_M");
        config.block_n = in.at("tile").at("BLOCK_SIZE_N");
        config.up = kernel_of(in.at("up"));
        config.down = kernel_of(in.at("down"));
        if (in.contains("up_naive")) {
          config.up_naive = kernel_of(in.at("up_naive"));
          config.down_naive = kernel_of(in.at("down_naive"));
        }
      }
    }
  } catch (const Json::exception& error) {
    throw ProfilingError(fmt::format("{}: {}", path, error.what()));
  }
}

TritonExperts::~TritonExperts() = default;

const TritonExperts::Config& TritonExperts::config_for(const at::Tensor& gate_up, std::int64_t top_k,
                                                       std::int64_t tokens) const {
  const std::vector<std::int64_t> key = {gate_up.size(0), gate_up.size(1) / 2, gate_up.size(2), top_k};
  const auto shape = shapes_.find(key);
  if (shape == shapes_.end() || shape->second.configs.empty()) {
    throw ProfilingError(
        fmt::format("fused experts: {} experts of {} x {}, {} a token, are not compiled; "
                    "scripts/triton-experts compiles the shapes of a config.json",
                    key[0], key[1], key[2], key[3]));
  }
  const auto& configs = shape->second.configs;
  auto above = configs.upper_bound(tokens);
  if (above == configs.begin()) {
    return above->second;
  }
  const auto below = std::prev(above);
  const bool take_above =
      shape->second.nearest && above != configs.end() && above->first - tokens < tokens - below->first;
  return take_above ? above->second : below->second;
}

TritonExperts::Assignment TritonExperts::assign(const at::Tensor& ids, std::int64_t block_m, std::int64_t experts) {
  const std::int64_t rows = ids.numel();
  Assignment made;
  const auto int_options = ids.options().dtype(at::kInt);
  constexpr std::int64_t kSparsity = 4;
  made.naive = rows * kSparsity <= experts;
  if (made.naive) {
    made.launched_rows = rows * block_m;
    made.block_experts = ids.view(-1);
    made.padded_rows = at::full({1}, rows * block_m, int_options);
    return made;
  }
  std::int64_t padded = rows + experts * (block_m - 1);
  if (rows < experts) {
    padded = std::min(rows * block_m, padded);
  }
  made.sorted_rows = at::empty({padded}, int_options);
  made.block_experts = at::empty({blocks_of(padded, block_m)}, int_options);
  made.padded_rows = at::empty({1}, int_options);
  align_({ids, experts, block_m, made.sorted_rows, made.block_experts, made.padded_rows, c10::IValue()});
  made.launched_rows = padded;
  if (ids.size(0) < block_m) {
    made.launched_rows = std::min(padded, rows * block_m);
  }
  return made;
}

void TritonExperts::launch(const CompiledKernel& kernel, const Config& config, const at::Tensor& rows,
                           const at::Tensor& expert_weights, at::Tensor& out, const at::Tensor& routing,
                           const Assignment& assignment, std::int64_t valid_rows) {
  const std::int64_t n = expert_weights.size(1);
  const std::map<std::string, void*> pointers = {
      {"a_ptr", rows.data_ptr()},
      {"b_ptr", expert_weights.data_ptr()},
      {"c_ptr", out.data_ptr()},
      {"topk_weights_ptr", routing.data_ptr()},
      {"sorted_token_ids_ptr", assignment.naive ? nullptr : assignment.sorted_rows.data_ptr()},
      {"expert_ids_ptr", assignment.block_experts.data_ptr()},
      {"num_tokens_post_padded_ptr", assignment.padded_rows.data_ptr()}};
  const std::map<std::string, std::int64_t> numbers = {{"N", n},
                                                       {"K", expert_weights.size(2)},
                                                       {"EM", assignment.launched_rows},
                                                       {"num_valid_tokens", valid_rows},
                                                       {"stride_am", rows.stride(0)},
                                                       {"stride_be", expert_weights.stride(0)},
                                                       {"stride_bn", expert_weights.stride(1)},
                                                       {"stride_cm", n}};
  std::vector<std::uint64_t> values;  // as the kernel reads them: pointers of 8 bytes, integers of 4
  for (const std::string& name : kernel.arguments) {
    if (const auto pointer = pointers.find(name); pointer != pointers.end()) {
      values.push_back(reinterpret_cast<std::uint64_t>(pointer->second));
    } else {  // strides of what a product without quantisation and bias does not have are 0
      const auto number = numbers.find(name);
      values.push_back(number == numbers.end() ? 0 : static_cast<std::uint64_t>(number->second));
    }
  }
  const std::int64_t grid = blocks_of(assignment.launched_rows, config.block_m) * blocks_of(n, config.block_n);
  driver_.launch(kernel, {grid, 1, 1}, std::move(values), "fused experts");
}

at::Tensor TritonExperts::run(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                              const at::Tensor& weights, const at::Tensor& ids) {
  const std::int64_t tokens = x.size(0), top_k = ids.size(1), rows = tokens * top_k;
  const Config& config = config_for(gate_up, top_k, tokens);
  const Assignment assignment = assign(ids, config.block_m, gate_up.size(0));
  if (assignment.naive && !config.up_naive) {
    throw ProfilingError(fmt::format("fused experts: no kernel without sorting is compiled for {} tokens", tokens));
  }
  at::Tensor inner = at::empty({rows, gate_up.size(1)}, x.options());
  at::Tensor gated = at::empty({rows, gate_up.size(1) / 2}, x.options());
  at::Tensor each = at::empty({tokens, top_k, x.size(1)}, x.options());
  launch(assignment.naive ? *config.up_naive : config.up, config, x, gate_up, inner, weights, assignment, rows);
  silu_and_mul_({gated, inner});
  launch(assignment.naive ? *config.down_naive : config.down, config, gated, down, each, weights, assignment, rows);
  at::Tensor out = at::empty_like(x);
  sum_({each, out, c10::IValue() /*ids*/, c10::IValue() /*map*/});
  return out;
}

namespace {

using ExpertsCall = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const at::Tensor&, std::string_view);

at::Tensor run_loaded(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                      const at::Tensor& ids, std::string_view folder) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, TritonExperts, std::less<>>;  // as long as the libraries
  const std::lock_guard lock(mutex);
  auto found = loaded->find(folder);
  if (found == loaded->end()) found = loaded->try_emplace(std::string(folder), std::string(folder)).first;
  return found->second.run(x, gate_up, down, weights, ids);
}

c10::TypedOperatorHandle<ExpertsCall> register_operator() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
  library->def(
      "triton_fused_experts(Tensor x, Tensor gate_up, Tensor down, Tensor weights, Tensor ids, str folder) -> Tensor");
  library->impl("triton_fused_experts", torch::dispatch(c10::DispatchKey::CUDA, run_loaded));
  return c10::Dispatcher::singleton().findSchemaOrThrow("dooly::triton_fused_experts", "").typed<ExpertsCall>();
}

}  // namespace

at::Tensor TritonExperts::call(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                               const at::Tensor& weights, const at::Tensor& ids, const std::string& folder) {
  static const auto op = register_operator();
  return op.call(x, gate_up, down, weights, ids, folder);
}

}  // namespace dooly::profiling
