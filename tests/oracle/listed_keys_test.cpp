// The operators of one model, written down: tests of the plan, the tracer and the importer hold theirs against this
 // list.
#include "test_support/key_list.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::oracle {
namespace {

/// Entries of one signature as one, in order of first appearance, in the words of the list.
std::vector<std::string> lines_of(const StepPlan& plan) {
  std::vector<test::ListedKey> found;
  for (const PlanEntry& entry : plan.entries) {
    const std::string signature = entry.signature.hex();
    const auto at = std::find_if(found.begin(), found.end(),
                                 [&](const test::ListedKey& known) { return known.signature == signature; });
    if (at == found.end()) {
      found.push_back({entry.name, static_cast<int>(entry.count), signature, canonical_json(entry.key)});
    } else {
      if (("," + at->names + ",").find("," + entry.name + ",") == std::string::npos) at->names += "," + entry.name;
      at->count += static_cast<int>(entry.count);
    }
  }
  std::vector<std::string> lines;
  for (const test::ListedKey& key : found)
    lines.push_back(key.names + " " + std::to_string(key.count) + " " + key.signature + " " + key.key);
  return lines;
}

std::vector<std::string> listed() {
  std::vector<std::string> lines;
  for (const test::ListedKey& key : test::listed_keys("llama-3.1-8b-tp1-fa3.txt"))
    lines.push_back(key.names + " " + std::to_string(key.count) + " " + key.signature + " " + key.key);
  return lines;
}

TEST(ListedKeys, AreThoseOfTheShippedModelsPlan) {
  EXPECT_EQ(listed().size(), 13u);
  EXPECT_EQ(lines_of(make_plan(find_model("meta-llama/Llama-3.1-8B"), {.backend = "fa3"})), listed());
}

TEST(ListedKeys, AreThoseOfThePlanFromThePublishedConfig) {
  const auto path = test::data_path("data/models/meta-llama--Meta-Llama-3.1-8B/config.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  EXPECT_EQ(lines_of(make_plan(load_model_file(path), {.backend = "fa3"})), listed());
}

TEST(ListedKeys, SignaturesAreThoseOfTheKeys) {
  for (const test::ListedKey& listed : test::listed_keys("llama-3.1-8b-tp1-fa3.txt")) {
    const OperatorKey key = parse_operator_key(listed.key);
    EXPECT_EQ(canonical_json(key), listed.key);
    EXPECT_EQ(signature_of(key).hex(), listed.signature) << listed.names;
  }
}

}  // namespace
}  // namespace dooly::oracle
