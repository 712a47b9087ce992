#include "profiling_trace/layer_fold.hpp"

#include "profiling_trace/module_tree.hpp"
#include "profiling_trace/signing.hpp"
#include "profiling_trace/trace_model.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dooly::profiling {
namespace {

TEST(LayerFold, KeepsTheFirstLayerAndOneOfEachKindBehindIt) {
  // 32 layers: three with a window of 4,096, then one that sees everything, eight times.
  const LayerFold fold = distinct_layers(oracle::find_model("CohereForAI/c4ai-command-r7b-12-2024"));
  EXPECT_EQ(fold.kept, (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(fold.times, (std::vector<std::uint32_t>{1, 23, 8}));
}

Trace folded_trace(const oracle::ModelConfig& model) {
  TraceSettings settings;
  settings.batch = mixed_batch();
  settings.each_layer_once = true;
  const auto kernels = make_torch_kernels();
  return trace_model(model, {}, *kernels, settings);
}

TEST(LayerFold, AFoldedTraceHasTheOperationsOfTheWholeModelsPlan) {
  for (const char* name : {"meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024",
                           "mistralai/Ministral-8B-Instruct-2410", "Qwen/Qwen3-30B-A3B"}) {
    const oracle::ModelConfig model = oracle::find_model(name);
    const Trace trace = folded_trace(model);
    EXPECT_EQ(unlabelled_dims(trace), std::vector<std::string>()) << name;
    std::map<std::string, std::uint64_t> traced, planned;
    for (const SignedOperation& operation : sign(trace, plan_families(model, "fa3", 1)).operations)
      traced[oracle::canonical_json(operation.key)] += operation.times;
    oracle::PlanSettings settings;
    settings.backend = "fa3";
    for (const oracle::PlanEntry& entry : oracle::make_plan(model, settings).entries)
      planned[oracle::canonical_json(entry.key)] += entry.count;
    EXPECT_EQ(traced, planned) << name;
  }
}

TEST(LayerFold, LayersHaveTheNamesThatTheyHaveInTheModelAndSayHowManyTheyStandFor) {
  const std::string text = trace_text(folded_trace(oracle::find_model("CohereForAI/c4ai-command-r7b-12-2024")));
  for (const char* line :
       {"layers.0: DecoderLayer\n", "layers.1: DecoderLayer (23 times)\n", "layers.3: DecoderLayer (8 times)\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(LayerFold, TimesCountForAllLayers) {
  Trace trace;
  trace.modules.push_back({"model", "Decoder", "model", 0, 1, {}});
  trace.modules.push_back({"layers.0", "DecoderLayer", "model.layers.0", 1, 1, {}});
  trace.modules.push_back({"layers.1", "DecoderLayer", "model.layers.1", 1, 1, {}});
  trace.modules.push_back({"mlp", "MLP", "model.layers.1.mlp", 3, 1, {}});
  for (const std::size_t module : {1U, 2U, 4U}) {
    trace.operators.emplace_back().module = module;
    trace.operators.back().seconds = 0.25;
  }
  trace.seconds = 1;  // a quarter of it between operators
  unfold(trace, {{0, 2}, {1, 7}});
  EXPECT_EQ(trace.modules[4].path, "model.layers.2.mlp");
  EXPECT_EQ(trace.operators[2].times, 7U);
  EXPECT_DOUBLE_EQ(trace.operators[2].seconds, 1.75);
  EXPECT_DOUBLE_EQ(trace.operators[1].seconds, 0.25);
  EXPECT_DOUBLE_EQ(trace.seconds, 2.5);
}

}  // namespace
}  // namespace dooly::profiling
