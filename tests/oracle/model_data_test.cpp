// Every config.json of the public model data either parses or is refused by name.
#include "oracle/gpu.hpp"
#include "oracle/kv_layout.hpp"
#include "oracle/model_config.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operators.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

// Hub pages' parameter counts of models that do not ship with the program (text part only for multi-modal ones).
const std::map<std::string, std::uint64_t> kPublished{
    {"01-ai--Yi-34B", 34'388'917'248},
    {"CohereForAI--aya-23-8B", 8'028'033'024},
    {"Qwen--Qwen1.5-MoE-A2.7B", 14'315'784'192},
    {"Qwen--Qwen2.5-3B-Instruct", 3'085'938'688},
    {"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480'154'875'392},
    {"allenai--OLMo-2-1124-7B", 7'298'617'344},
    {"bigcode--starcoder2-7b", 7'173'923'840},
    {"codellama--CodeLlama-34b-Instruct-hf", 33'743'970'304},
    {"google--gemma-2-27b-it", 27'227'128'320},
    {"google--gemma-2-2b-it", 2'614'341'888},
    {"google--gemma-3-1b-it", 999'885'952},
    {"google--gemma-7b", 8'537'680'896},
    {"internlm--internlm2_5-7b-chat", 7'737'708'544},
    {"meta-llama--Llama-3.2-1B", 1'235'814'400},
    {"meta-llama--Llama-3.2-3B", 3'212'749'824},
    {"microsoft--Phi-4-mini-instruct", 3'836'021'760},
    {"microsoft--phi-2", 2'779'683'840},
    {"microsoft--phi-4", 14'659'507'200},
    {"mistralai--Mistral-Nemo-Instruct-2407", 12'247'782'400},
};
const std::vector<std::string> kHybrids{"Qwen--Qwen3-Next-80B-A3B-Instruct", "Qwen--Qwen3.5-27B",
                                        "Qwen--Qwen3.5-35B-A3B", "nvidia--Nemotron-H-56B-Base-8K"};

std::vector<std::filesystem::path> model_folders() {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path root = dooly::test::data_path("data/models");
  if (!std::filesystem::exists(root)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(ModelData, EveryConfigParsesOrIsRefusedByName) {
  const auto folders = model_folders();
  if (folders.empty()) GTEST_SKIP() << "missing " << dooly::test::data_path("data/models");
  for (const auto& folder : folders) {
    const std::string name = folder.filename().string();
    SCOPED_TRACE(name);
    if (std::find(kHybrids.begin(), kHybrids.end(), name) != kHybrids.end()) {
      try {
        load_model_file(folder);
        ADD_FAILURE() << "must be refused";
      } catch (const OracleError& error) {
        EXPECT_NE(std::string(error.what()).find("layers are not supported"), std::string::npos) << error.what();
      }
      continue;
    }
    const ModelConfig model = load_model_file(folder);
    if (const auto known = kPublished.find(name); known != kPublished.end()) {
      EXPECT_EQ(parameter_count(model), known->second);
    }
    EXPECT_GT(weight_bytes_per_gpu(model, 1, DType::kBfloat16), parameter_count(model) / 2);
    EXPECT_GT(kv_cache_layout(model, 1, DType::kBfloat16, 16).block_bytes, 0u);
    EXPECT_FALSE(step_operators(model, {}).per_token.empty());
  }
}

TEST(ModelData, ExplicitAndOmittedDefaultsAgree) {
  const auto folder = dooly::test::data_path("data/models/google--gemma-3-4b-it");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "missing " << folder;
  const ModelConfig omitted = load_model_file(folder);
  const ModelConfig spelled = load_model_file(folder / "config.explicit.json");
  EXPECT_EQ(parameter_count(omitted), parameter_count(spelled));
  ASSERT_EQ(omitted.layers.size(), spelled.layers.size());
  for (std::size_t i = 0; i < omitted.layers.size(); ++i) {
    EXPECT_EQ(omitted.layers[i].attention, spelled.layers[i].attention) << i;
  }
}

TEST(ModelData, ShippedFactsAgreeWithTheFiles) {
  const auto folders = model_folders();
  if (folders.empty()) GTEST_SKIP() << "missing " << dooly::test::data_path("data/models");
  int compared = 0;
  for (const auto& folder : folders) {
    std::string name = folder.filename().string();
    name.replace(name.find("--"), 2, "/");
    if (!is_shipped_model(name)) continue;
    SCOPED_TRACE(name);
    const ModelConfig file = load_model_file(folder);
    const ModelConfig shipped = find_model(name);
    EXPECT_EQ(parameter_count(file), parameter_count(shipped));
    EXPECT_EQ(file.max_position, shipped.max_position);
    EXPECT_EQ(file.dtype, shipped.dtype);
    EXPECT_EQ(file.linear_format, shipped.linear_format);
    EXPECT_EQ(file.expert_format, shipped.expert_format);
    ASSERT_EQ(file.layers.size(), shipped.layers.size());
    for (std::size_t i = 0; i < file.layers.size(); ++i) {
      EXPECT_EQ(file.layers[i].attention, shipped.layers[i].attention) << i;
      EXPECT_EQ(file.layers[i].moe, shipped.layers[i].moe) << i;
    }
    ++compared;
  }
  EXPECT_GE(compared, 18);
}

}  // namespace
}  // namespace dooly::oracle
