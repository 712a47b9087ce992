#include "profiling_trace/signing.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/trace_model.hpp"
#include "test_support/key_list.hpp"
#include "test_support/test_data.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace dooly::profiling {
namespace {

struct ModelCase {
  const char* folder;
  std::uint32_t ranks;
  const char* backend;
};

/// Signature and canonical key -> how often in a step.
using Counts = std::map<std::string, int>;

Counts planned(const oracle::ModelConfig& config, const ModelCase& model) {
  oracle::PlanSettings settings;
  settings.backend = model.backend;
  settings.tensor_parallel = model.ranks;
  Counts counts;
  for (const oracle::PlanEntry& entry : oracle::make_plan(config, settings).entries) {
    counts[entry.signature.hex() + " " + oracle::canonical_json(entry.key)] += static_cast<int>(entry.count);
  }
  return counts;
}

Counts traced(const ModelFile& file, const ModelCase& model) {
  const auto kernels = make_torch_kernels();
  TraceSettings settings;
  settings.tensor_parallel = model.ranks;
  settings.batch = mixed_batch();
  const Trace trace = trace_model(file.config, file.numbers, *kernels, settings);
  EXPECT_EQ(unlabelled_dims(trace), std::vector<std::string>());

  const SignedTrace found = sign(trace, plan_families(file.config, model.backend, model.ranks));
  Counts counts;
  for (const SignedOperation& operation : found.operations) {
    ++counts[operation.signature.hex() + " " + oracle::canonical_json(operation.key)];
  }
  EXPECT_EQ(found.unsigned_, std::vector<std::size_t>());
  return counts;
}

class EveryModel : public ::testing::TestWithParam<ModelCase> {};

TEST_P(EveryModel, TracedKeysAreThePlansByteForByte) {
  const auto path = test::data_path(std::filesystem::path("data/models") / GetParam().folder / "config.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  const ModelFile file = load_model(path);
  EXPECT_EQ(traced(file, GetParam()), planned(file.config, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    ::testing::Values(ModelCase{"meta-llama--Meta-Llama-3.1-8B", 1, "fa3"},
                      ModelCase{"meta-llama--Meta-Llama-3.1-8B", 2, "flashinfer"},
                      ModelCase{"meta-llama--Meta-Llama-3.1-405B", 8, "fa3"},
                      ModelCase{"CohereForAI--c4ai-command-r7b-12-2024", 1, "fa3"},
                      ModelCase{"mistralai--Ministral-8B-Instruct-2410", 1, "fa3"},
                      ModelCase{"Qwen--Qwen3-8B", 1, "fa3"}, ModelCase{"Qwen--Qwen3-32B", 4, "triton"},
                      ModelCase{"Qwen--Qwen2.5-7B-Instruct", 2, "fa3"}, ModelCase{"Qwen--Qwen3-30B-A3B", 1, "fa3"},
                      ModelCase{"Qwen--Qwen1.5-MoE-A2.7B", 1, "fa3"},
                      ModelCase{"mistralai--Mixtral-8x7B-v0.1", 2, "fa3"}, ModelCase{"google--gemma-2-9b-it", 1, "fa3"},
                      ModelCase{"google--gemma-3-12b-it", 1, "fa3"},
                      ModelCase{"deepseek-ai--DeepSeek-V2-Lite", 1, "fa3"},
                      ModelCase{"deepseek-ai--DeepSeek-V2-Lite", 2, "flashmla"}),
    [](const auto& model) {
      std::string name = fmt::format("{}_tp{}_{}", model.param.folder, model.param.ranks, model.param.backend);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(FamilyFindings, NameBothFamiliesOnceAndKnowCopiesAreNoKernels) {
  const ModelFile file{oracle::find_model("meta-llama/Llama-3.1-8B"), {}};
  const auto kernels = make_torch_kernels();
  TraceSettings settings;
  settings.batch = mixed_batch();
  Trace trace = trace_model(file.config, file.numbers, *kernels, settings);
  const SignedTrace keys = sign(trace, plan_families(file.config, "fa3", 1));
  EXPECT_EQ(family_findings(trace, keys), std::vector<std::string>());  // nothing ran
  for (const SignedOperation& operation : keys.operations) {
    auto& symbols = trace.operators[operation.operators.back()].kernels;
    if (operation.key.kind == "linear") symbols = {"copy", "nvjet_sm90_tst_128x64_64x9_2x1_v_bz_TNT"};
    if (operation.key.kind == "attention") symbols = {"_ZN5flash24flash_fwd_splitkv_kernelI"};
    if (operation.key.kind == "rope") symbols = {"copy"};
  }
  EXPECT_EQ(family_findings(trace, keys),
            std::vector<std::string>{"attention 32x8x128: ran kernels of fa2, the key names fa3"});
}

/// tests/keys: the plan and an imported table are held against the same list.
TEST(ListedKeys, AreThoseOfATracedPass) {
  Counts listed;
  for (const test::ListedKey& key : test::listed_keys("llama-3.1-8b-tp1-fa3.txt"))
    listed[key.signature + " " + key.key] = key.count;
  EXPECT_EQ(listed.size(), 13U);
  EXPECT_EQ(traced({oracle::find_model("meta-llama/Llama-3.1-8B"), {}}, {"Llama-3.1-8B", 1, "fa3"}), listed);
}

}  // namespace
}  // namespace dooly::profiling
