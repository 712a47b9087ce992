#include "triton_norms.hpp"

#include "profiling_kernels/compiled_shapes.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <fmt/format.h>
#include <torch/library.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <mutex>
#include <string_view>
#include <tuple>

namespace dooly::profiling {

namespace {

using Json = nlohmann::json;

std::int64_t blocks_of(std::int64_t rows, std::int64_t block) { return (rows + block - 1) / block; }

std::uint64_t pointer(const at::Tensor& tensor) { return reinterpret_cast<std::uint64_t>(tensor.data_ptr()); }

}  // namespace

/// One call, with room for its results.
struct TritonNorms::Step {
  Step(const at::Tensor& from, const HeadShape& shape)
      : qkv(from),
        queries(at::empty({from.size(0), shape.heads}, from.options().dtype(at::kFloat))),
        keys(at::empty({from.size(0), shape.kv_heads}, from.options().dtype(at::kFloat))) {}

  at::Tensor qkv, queries, keys;
};

TritonNorms::TritonNorms(const std::string& folder) {
  const std::string path = folder + "/norms.json";
  std::ifstream file(path);
  if (!file) throw ProfilingError(path + ": cannot be read; scripts/triton-norms makes it");
  try {
    const Json root = Json::parse(file);
    tokens_ = root.at("tokens");
    for (const Json& table : root.at("tables")) {
      Variant& variant = variants_[{table.at("heads"), table.at("kv_heads"), table.at("head_dim")}];
      for (const Json& in : table.at("candidates")) {
        variant.candidates.push_back({driver_.load(folder, in), in.at("x_block"), in.at("r_block")});
      }
      if (variant.candidates.empty()) throw ProfilingError(path + ": candidates: none for a shape");
    }
  } catch (const Json::exception& error) {
    throw ProfilingError(fmt::format("{}: {}", path, error.what()));
  }
}

TritonNorms::Variant& TritonNorms::variant_of(const HeadShape& shape) {
  const auto found = variants_.find({shape.heads, shape.kv_heads, shape.head_dim});
  if (found == variants_.end() || shape.across_heads) throw ProfilingError(not_compiled(shape));
  return found->second;
}

void TritonNorms::launch(const Candidate& candidate, const Step& step) const {
  const std::int64_t queries = step.queries.numel(), keys = step.keys.numel();
  const std::map<std::string_view, std::uint64_t> values = {{"in_ptr0", pointer(step.qkv)},
                                                            {"out_ptr0", pointer(step.queries)},
                                                            {"out_ptr1", pointer(step.keys)},
                                                            {"xnumel_0", static_cast<std::uint64_t>(queries)},
                                                            {"xnumel_1", static_cast<std::uint64_t>(keys)}};
  std::vector<std::uint64_t> ordered;
  for (const std::string& name : candidate.kernel.arguments) {
    const auto found = values.find(name);
    if (found == values.end()) throw ProfilingError(fmt::format("norms of heads: unknown argument {}", name));
    ordered.push_back(found->second);
  }
  const std::int64_t grid = blocks_of(queries, candidate.x_block) + blocks_of(keys, candidate.x_block);
  driver_.launch(candidate.kernel, {grid, 1, 1}, std::move(ordered), "norms of heads");
}

/// The least of several times with a cold cache, as torch/_inductor/runtime/benchmarking.py takes it.
double TritonNorms::milliseconds(const Candidate& candidate, const Step& step) const {
  constexpr int kTimes = 100;
  constexpr std::int64_t kCacheBytes = std::int64_t{64} << 20;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  const c10::Stream stream = guard.getStream(guard.getDevice());
  const at::Tensor cache = at::empty({kCacheBytes / 4}, step.qkv.options().dtype(at::kInt));
  launch(candidate, step);
  double least = std::numeric_limits<double>::infinity();
  for (int time = 0; time < kTimes; ++time) {
    c10::Event begin(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    c10::Event end(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    cache.zero_();
    begin.record(stream);
    launch(candidate, step);
    end.record(stream);
    end.synchronize();
    least = std::min(least, begin.elapsedTime(end));
  }
  return least;
}

TritonNorms::Variant& TritonNorms::chosen_of(const HeadShape& shape) {
  Variant& variant = variant_of(shape);
  if (variant.chosen != nullptr) return variant;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  const auto options = at::TensorOptions(guard.getDevice()).dtype(at::kBFloat16);
  const std::int64_t width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
  const Step step(at::ones({tokens_, width}, options), shape);
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : variant.candidates) {
    const double time = milliseconds(candidate, step);
    if (time < least) {
      least = time;
      variant.chosen = &candidate;
    }
  }
  return variant;
}

std::string TritonNorms::choose(const HeadShape& shape) {
  const Variant& variant = chosen_of(shape);
  return fmt::format("Inductor's kernel with blocks of {} x {} and {} warps, the fastest of {} at {} tokens",
                     variant.chosen->x_block, variant.chosen->r_block, variant.chosen->kernel.warps,
                     variant.candidates.size(), tokens_);
}

std::pair<at::Tensor, at::Tensor> TritonNorms::run(const at::Tensor& qkv, const HeadShape& shape) {
  Step step(qkv, shape);
  launch(*chosen_of(shape).chosen, step);
  return {std::move(step.queries), std::move(step.keys)};
}

namespace {

using NormsCall = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, std::int64_t, std::int64_t, std::int64_t,
                                                     std::string_view);

/// With the lock that guards it held.
TritonNorms& loaded(std::string_view folder) {
  static auto* const all = new std::map<std::string, TritonNorms, std::less<>>;  // as long as the modules
  auto found = all->find(folder);
  if (found == all->end()) found = all->try_emplace(std::string(folder), std::string(folder)).first;
  return found->second;
}

std::mutex& loaded_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::tuple<at::Tensor, at::Tensor> run_loaded(const at::Tensor& qkv, std::int64_t heads, std::int64_t kv_heads,
                                              std::int64_t head_dim, std::string_view folder) {
  const std::lock_guard lock(loaded_mutex());
  return loaded(folder).run(qkv, {heads, kv_heads, head_dim, false});
}

c10::TypedOperatorHandle<NormsCall> register_operator() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
  library->def("triton_norms(Tensor qkv, int heads, int kv_heads, int head_dim, str folder) -> (Tensor, Tensor)");
  library->impl("triton_norms", torch::dispatch(c10::DispatchKey::CUDA, run_loaded));
  return c10::Dispatcher::singleton().findSchemaOrThrow("dooly::triton_norms", "").typed<NormsCall>();
}

}  // namespace

std::string TritonNorms::choose(const HeadShape& shape, const std::string& folder) {
  const std::lock_guard lock(loaded_mutex());
  return loaded(folder).choose(shape);
}

std::pair<at::Tensor, at::Tensor> TritonNorms::call(const at::Tensor& qkv, const HeadShape& shape,
                                                    const std::string& folder) {
  static const auto op = register_operator();
  auto [queries, keys] = op.call(qkv, shape.heads, shape.kv_heads, shape.head_dim, folder);
  return {std::move(queries), std::move(keys)};
}

}  // namespace dooly::profiling
