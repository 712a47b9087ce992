// What a published table has of a model whose operators are written down (tests/keys): the same keys and signatures.
#include "profile_folder.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "test_support/key_list.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::import_ {
namespace {

using Names = std::vector<std::string>;

/// Names of those that the table has, in the plan's order; each with the key that the list has under that signature.
Names measured(const test::MemorySamples& table, const std::vector<dooly::test::ListedKey>& listed) {
  Names names;
  for (const dooly::test::ListedKey& key : listed) {
    const auto at = std::find_if(table.by_signature.begin(), table.by_signature.end(),
                                 [&](const auto& known) { return known.first.hex() == key.signature; });
    if (at == table.by_signature.end()) continue;
    EXPECT_EQ(canonical_json(at->second.first), key.key);
    EXPECT_FALSE(at->second.second.empty()) << key.names;
    names.push_back(key.names);
  }
  return names;
}

/// The list, with the attention of another back end.
std::vector<dooly::test::ListedKey> listed_for(const std::string& backend) {
  auto listed = dooly::test::listed_keys("llama-3.1-8b-tp1-fa3.txt");
  const auto plan = oracle::make_plan(oracle::find_model("meta-llama/Llama-3.1-8B"), {.backend = backend});
  for (dooly::test::ListedKey& key : listed) {
    const auto entry = std::find_if(plan.entries.begin(), plan.entries.end(), [&](const oracle::PlanEntry& one) {
      return one.name == key.names.substr(0, key.names.find(','));
    });
    if (entry == plan.entries.end()) throw std::runtime_error("the plan has no " + key.names);
    if (key.names != "attention") {
      EXPECT_EQ(entry->signature.hex(), key.signature) << key.names;
    }
    key.signature = entry->signature.hex();
    key.key = canonical_json(entry->key);
  }
  return listed;
}

constexpr const char* kNormsThatAdd = "post_attention_norm,input_norm,final_norm";
/// All but the first layer's norm, which adds nothing, and the cache's write: the profiler runs neither by itself.
const Names kLayers{"embedding",    "qkv_proj",    "rope",      "attention", "o_proj", kNormsThatAdd,
                    "gate_up_proj", "act_and_mul", "down_proj", "lm_head",   "sample"};

class LlamaOfLLMServingSim : public testing::Test {
 protected:
  void import(const std::string& gpu, const std::string& backend) {
    const auto path = dooly::test::data_path("data/profiles/llmservingsim/" + gpu);
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
    ImportOptions options;
    if (!backend.empty()) options.backend = backend;
    import_profile("llmservingsim", path, options, table_);
  }
  test::MemorySamples table_;
};

TEST_F(LlamaOfLLMServingSim, HasTheOperatorsOfThePlanOfItsBackEnd) {
  import("RTX4090", "");
  if (IsSkipped()) return;
  EXPECT_EQ(measured(table_, listed_for("fa2")), kLayers);
  EXPECT_EQ(table_.by_signature.size(), kLayers.size()) << "a signature that the plan does not ask for";
}

TEST_F(LlamaOfLLMServingSim, NamedTheListsBackEndHasTheOperatorsOfTheList) {
  import("RTX4090", "fa3");
  if (IsSkipped()) return;
  EXPECT_EQ(measured(table_, dooly::test::listed_keys("llama-3.1-8b-tp1-fa3.txt")), kLayers);
  EXPECT_EQ(table_.by_signature.size(), kLayers.size());
}

TEST(LlamaOfAIConfigurator, HasMatrixProductsAndAttentionOfTheList) {
  const auto path = dooly::test::data_path("data/profiles/aiconfigurator/h200_sxm");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  test::MemorySamples table;
  import_profile("aiconfigurator", path, {}, table);
  EXPECT_EQ(measured(table, dooly::test::listed_keys("llama-3.1-8b-tp1-fa3.txt")),
            (Names{"qkv_proj", "attention", "o_proj"}));
}

}  // namespace
}  // namespace dooly::import_
