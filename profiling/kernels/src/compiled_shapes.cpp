#include "profiling_kernels/compiled_shapes.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <initializer_list>

namespace dooly::profiling {

namespace {

constexpr const char* kUnknown = "unknown";

/// What a table was compiled with; without a path: it is not there.
struct Compiler {
  std::string path, triton, vllm;
};

std::set<std::vector<std::int64_t>> shapes_of(const std::string& path, std::initializer_list<const char*> names,
                                              Compiler& compiler) {
  std::ifstream file(path);
  if (!file) return {};
  try {
    std::set<std::vector<std::int64_t>> shapes;
    const nlohmann::json root = nlohmann::json::parse(file);
    compiler = {path, root.value("triton", kUnknown), root.value("vllm", "")};
    for (const nlohmann::json& table : root.at("tables")) {
      std::vector<std::int64_t> shape;
      for (const char* name : names) shape.push_back(table.at(name).get<std::int64_t>());
      shapes.insert(std::move(shape));
    }
    return shapes;
  } catch (const nlohmann::json::exception& error) {
    throw ProfilingError(fmt::format("{}: {}", path, error.what()));
  }
}

/// Of all tables one version: a sample could not tell by which of several its kernel was compiled.
std::string triton_of(const std::array<Compiler, 3>& compilers, const std::string& vllm) {
  const Compiler* first = nullptr;
  for (const Compiler& each : compilers) {
    if (each.path.empty()) continue;
    if (!each.vllm.empty() && vllm != kUnknown && each.vllm != vllm)
      throw ProfilingError(
          fmt::format("{}: was compiled from vLLM {}, the libraries beside it are of {}", each.path, each.vllm, vllm));
    if (first != nullptr && first->triton != each.triton)
      throw ProfilingError(fmt::format("{}: was compiled by Triton {}, {} by {}: compile both by one", each.path,
                                       each.triton, first->path, first->triton));
    first = &each;
  }
  return first == nullptr ? std::string() : first->triton;
}

}  // namespace

CompiledShapes::CompiledShapes(const std::string& folder) {
  std::array<Compiler, 3> compilers;
  experts_ = shapes_of(folder + "/experts/experts.json", {"experts", "width", "hidden", "top_k"}, compilers[0]);
  attention_ = shapes_of(folder + "/attention/attention.json",
                         {"heads", "kv_heads", "head_dim", "window", "has_soft_cap", "block_size"}, compilers[1]);
  norms_ = shapes_of(folder + "/norms/norms.json", {"heads", "kv_heads", "head_dim"}, compilers[2]);
  triton_ = triton_of(compilers, vllm_version(folder));
}

std::string CompiledShapes::refusal(const ExpertShape& shape) const {
  if (experts_.contains({shape.experts, shape.width, shape.hidden, shape.top_k})) return {};
  return fmt::format(
      "fused experts: {} experts of {} x {}, {} a token, are not compiled; scripts/triton-experts compiles the shapes "
      "of "
      "a config.json",
      shape.experts, shape.width, shape.hidden, shape.top_k);
}

std::string CompiledShapes::refusal(const AttentionShape& shape) const {
  const std::int64_t has_soft_cap = shape.soft_cap > 0 ? 1 : 0;
  if (attention_.contains(
          {shape.heads, shape.kv_heads, shape.head_dim, shape.window, has_soft_cap, shape.block_size})) {
    return {};
  }
  return fmt::format(
      "Triton attention: {} query and {} KV heads of {}, window {}, {} soft cap, blocks of {}, are not compiled; "
      "scripts/triton-attention compiles the shapes of a config.json",
      shape.heads, shape.kv_heads, shape.head_dim, shape.window, has_soft_cap != 0 ? "with" : "no", shape.block_size);
}

std::string CompiledShapes::refusal(const HeadShape& shape) const {
  if (!shape.across_heads && norms_.contains({shape.heads, shape.kv_heads, shape.head_dim})) return {};
  return not_compiled(shape);
}

std::string not_compiled(const HeadShape& shape) {
  if (shape.across_heads) return "norms across heads: scripts/triton-norms has none";
  return fmt::format(
      "norms of {} query and {} KV heads of {} are not compiled; scripts/triton-norms compiles the shapes of a "
      "config.json",
      shape.heads, shape.kv_heads, shape.head_dim);
}

}  // namespace dooly::profiling
