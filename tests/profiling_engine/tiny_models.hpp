#pragma once

#include "profiling_engine/model.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// config.json of a model of each family that the built-in engine has, small enough for tests.
std::vector<std::string_view> tiny_families();
std::string tiny_config(std::string_view family);

/// A tiny model with its cache, on the CPU in float32, and block tables handed out from block 1 on.
class TinyModel {
 public:
  static constexpr std::uint32_t kBlockSize = 4, kBlocks = 3000;
  /// `changes`: members of the config.json that are other than the family's.
  explicit TinyModel(std::string_view family, at::ScalarType dtype = at::kFloat, std::string_view changes = "{}");

  /// A request's tokens in the cache. Blocks are never given back.
  struct Sequence {
    std::int64_t computed = 0;
    std::vector<std::vector<std::uint32_t>> blocks;
  };
  Sequence open() const;
  /// Adds blocks for `tokens` and makes its part in a step.
  StepSequence part(Sequence& sequence, std::vector<std::int64_t> tokens, bool samples = true);
  /// Runs a step; token ids in the order of the parts that sample.
  std::vector<std::int64_t> step(const std::vector<StepSequence>& parts, std::int64_t padded = 0);
  /// Prompt in one piece, then one by one.
  std::vector<std::int64_t> generate(std::vector<std::int64_t> prompt, std::size_t outputs);

  const Model& model() const { return *model_; }
  KvTensors& cache() { return cache_; }
  StepSettings step_settings() const;

 private:
  oracle::ModelConfig config_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Model> model_;
  KvTensors cache_;
  std::uint32_t groups_ = 1, next_block_ = 1;
};

/// Tokens that look random.
std::vector<std::int64_t> some_tokens(std::size_t count, std::uint64_t seed);

}  // namespace dooly::profiling
