#include "schema.hpp"

#include "scenarios/write.hpp"
#include "test_files.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace dooly::scenario {
namespace {

TEST(Schema, TheReferencePageIsUpToDate) {
  const auto page = dooly::test::source_path("docs/scenario-reference.md");
  if (std::getenv("DOOLY_UPDATE")) std::ofstream(page) << reference_markdown();
  std::ostringstream committed;
  committed << std::ifstream(page).rdbuf();
  EXPECT_TRUE(committed.str() == reference_markdown())
      << page << " differs from the schema table; run the test with DOOLY_UPDATE=1 to write it anew";
}

TEST(Schema, EveryObjectIsReachableAndEveryReferenceExists) {
  std::set<std::string_view> used = {schema().front().name};
  for (const Object& object : schema()) {
    for (const Key& key : object.keys)
      if (!key.object.empty()) used.insert(schema_object(key.object).name);
    if (!object.extra.empty()) used.insert(schema_object(object.extra).name);
  }
  EXPECT_EQ(used.size(), schema().size());
}

TEST(Schema, EveryKeyIsExplained) {
  for (const Object& object : schema())
    for (const Key& key : object.keys) {
      EXPECT_FALSE(key.help.empty()) << object.name << "." << key.name;
      const bool is_decided = key.when_key.empty() || object.find(key.when_key) != nullptr;
      EXPECT_TRUE(is_decided) << object.name << "." << key.name;
    }
}

TEST(Schema, JsonSchemaNamesItsDraftAndRefersToItself) {
  const auto root = nlohmann::json::parse(json_schema());
  EXPECT_EQ(root["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(root["additionalProperties"], false);
  const std::string text = root.dump();
  for (std::size_t at = 0; (at = text.find("#/$defs/", at)) != std::string::npos; at += 8) {
    const std::string name = text.substr(at + 8, text.find('"', at) - at - 8);
    EXPECT_TRUE(root["$defs"].contains(name)) << name;
  }
  EXPECT_TRUE(root["$defs"]["engine"]["properties"].contains("max-num-seqs"));
  EXPECT_FALSE(root["properties"].contains("study"));
}

}  // namespace
}  // namespace dooly::scenario
