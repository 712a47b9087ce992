#include "dooly_process.hpp"

#include "listings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::cli {
namespace {

/// First words of the lines.
std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    found.push_back(text.substr(at, text.find_first_of(" \n", at) - at));
  return found;
}
bool holds(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

TEST(List, EveryKindHasALineEach) {
  const std::pair<const char*, std::vector<std::string>> kKnown[] = {
      {"policies", {"vllm-v1", "static"}},
      {"routers", {"round_robin", "random", "least_requests", "least_tokens", "power_of_two", "prefix_aware"}},
      {"oracles", {"fixed", "roofline"}},
      {"formats",
       {"azure", "mooncake", "burstgpt", "vidur", "llmservingsim", "sharegpt", "apex", "vllm-bench", "servegen",
        "dooly"}},
      {"gpus", {"H200-SXM"}},
      {"models", {"meta-llama/Llama-3.1-8B"}},
      {"platforms", {"none", "h200-vm"}}};
  for (const auto& [kind, known] : kKnown) {
    const ProcessResult result = dooly({"list", kind});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    for (const std::string& name : known) EXPECT_TRUE(holds(names(result.out), name)) << kind << ": " << name;
  }
}

TEST(List, EveryRowSaysMoreThanItsName) {
  for (const Listing& listing : listings())
    for (const auto& row : listing.rows({})) {
      ASSERT_GE(row.size(), 2u) << listing.kind;
      EXPECT_FALSE(row[1].empty()) << listing.kind << " " << row[0];
    }
}

TEST(List, PoliciesShowTheirOptions) {
  EXPECT_NE(dooly({"list", "policies"}).out.find("[options: batch_size: integer, at least 1"), std::string::npos);
}

TEST(List, APluginsPoliciesAndRouters) {
  EXPECT_EQ(names(dooly({"list", "policies", "--plugin", EXAMPLES_PLUGIN}).out),
            std::vector<std::string>{"shortest-job"});
  EXPECT_EQ(names(dooly({"list", "routers", "--plugin", EXAMPLES_PLUGIN}).out),
            std::vector<std::string>{"length_split"});
}

TEST(List, APluginThatIsNoneIsRefused) {
  const ProcessResult missing = dooly({"list", "policies", "--plugin", "/nowhere/libmine.so"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "plug-in /nowhere/libmine.so: no such file\n");
  const ProcessResult wrong = dooly({"list", "gpus", "--plugin", EXAMPLES_PLUGIN});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "--plugin: plug-ins hold no gpus; allowed with: policies, routers, oracles\n");
}

}  // namespace
}  // namespace dooly::cli
