#include "profiling_trace/resolver.hpp"

#include "profiling_kernels/kernels.hpp"
#include "profiling_trace/trace_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::profiling {
namespace {

constexpr const char* kConfig = R"({"model_type": "qwen3_moe", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
  "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6,
  "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "norm_topk_prob": true,
  "mlp_only_layers": [0]})";

class Resolver : public ::testing::Test {
 protected:
  Resolver() {
    const oracle::ModelConfig model = oracle::parse_model(kConfig, "small");
    TraceSettings settings;
    settings.device = c10::DeviceType::CPU;
    settings.dtype = at::kFloat;
    settings.batch = mixed_batch();
    settings.clock = clock_.get();
    trace_ = trace_model(model, parse_numbers(kConfig, model), *kernels_, settings);
    keys_ = sign(trace_, families_of(*kernels_));
  }

  /// The replaying runner, but an operator of this name does not run alone.
  Runner failing(const std::string& name) const {
    return [this, name, replay = replay_runner(trace_)](const std::vector<std::size_t>& operators) {
      if (operators.size() == 1 && trace_.operators[operators[0]].record.name == name) return std::string("no context");
      return replay(operators);
    };
  }

  std::unique_ptr<Kernels> kernels_ = make_torch_kernels();
  std::unique_ptr<PassClock> clock_ = make_cpu_clock();
  Trace trace_;
  SignedTrace keys_;
};

TEST_F(Resolver, EveryOperationRunsAloneWithGeneratedInputs) {
  const Resolution resolution = resolve(trace_, keys_, replay_runner(trace_));
  EXPECT_TRUE(resolution.unresolved.empty()) << resolution_text(trace_, resolution);
  EXPECT_TRUE(resolution.nameless.empty());
  EXPECT_EQ(resolution.units.size(), keys_.operations.size());
  EXPECT_EQ(resolution.above_operator_seconds, 0);
  EXPECT_GT(resolution.coverage, 0);
  EXPECT_LE(resolution.coverage, 1);
}

TEST_F(Resolver, AnOperatorThatDoesNotRunAloneFallsBackToItsParentWhichAbsorbsTheRest) {
  const Resolution resolution = resolve(trace_, keys_, failing("dooly::paged_attention"));
  EXPECT_TRUE(resolution.unresolved.empty());
  std::size_t modules = 0;
  for (const ResolvedUnit& unit : resolution.units) {
    if (!unit.is_module) continue;
    ++modules;
    EXPECT_EQ(trace_.modules[unit.module].kind, "PagedAttention");
    EXPECT_EQ(unit.why, "dooly::paged_attention: no context");
    EXPECT_FALSE(unit.too_large);
  }
  EXPECT_EQ(modules, 3U);
  std::vector<int> times(trace_.operators.size(), 0);
  for (const ResolvedUnit& unit : resolution.units)
    for (const std::size_t op : unit.operators) ++times[op];
  for (const int count : times) EXPECT_LE(count, 1);  // nothing is timed twice
  EXPECT_GT(resolution.above_operator_seconds, 0);
}

TEST_F(Resolver, AUnitOfMoreThanOneBlockDoesNotCount) {
  const Runner whole_layers = [this](const std::vector<std::size_t>& operators) {
    const bool one = operators.size() < 12;  // a layer has more calls, an attention block less
    return one ? std::string("no context") : std::string();
  };
  const Resolution resolution = resolve(trace_, keys_, whole_layers);
  ASSERT_FALSE(resolution.units.empty());
  for (const ResolvedUnit& unit : resolution.units) {
    EXPECT_TRUE(unit.is_module);
    EXPECT_TRUE(unit.too_large || trace_.modules[unit.module].kind != "DecoderLayer");
  }
  EXPECT_NE(resolution_text(trace_, resolution).find("more than one block"), std::string::npos);
  EXPECT_LT(resolution.coverage, 0.5);
}

TEST_F(Resolver, WhatRunsNowhereIsMissingByName) {
  const Runner nothing = [](const std::vector<std::size_t>&) { return std::string("never"); };
  const Resolution resolution = resolve(trace_, keys_, nothing);
  EXPECT_EQ(resolution.coverage, 0);
  EXPECT_NE(resolution_text(trace_, resolution).find("dooly::paged_attention (does not run alone)"), std::string::npos);
}

TEST_F(Resolver, OperatorsWithoutAKeyAreNamed) {
  // Rows are selected once more, which no sampler takes.
  const auto selects = [](const TracedOperator& op) { return op.record.name == "aten::index_select"; };
  const std::size_t added = trace_.operators.size();
  trace_.operators.push_back(*std::find_if(trace_.operators.begin(), trace_.operators.end(), selects));
  trace_.modules[0].steps.push_back({false, added});
  keys_ = sign(trace_, families_of(*kernels_));
  const Resolution resolution = resolve(trace_, keys_, replay_runner(trace_));
  ASSERT_EQ(resolution.nameless.size(), 1U);
  EXPECT_EQ(resolution.nameless[0], added);
  EXPECT_NE(resolution_text(trace_, resolution).find("aten::index_select (no operator key)"), std::string::npos);
}

}  // namespace
}  // namespace dooly::profiling
