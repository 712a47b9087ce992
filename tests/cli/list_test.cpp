#include "dooly_process.hpp"

#include "listings.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
      {"platforms", {"none", "h200-vm"}},
      {"host-times", {"schedule", "delivery", "clock_time_constant"}}};
  for (const auto& [kind, known] : kKnown) {
    const ProcessResult result = dooly({"list", kind});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    for (const std::string& name : known) EXPECT_TRUE(holds(names(result.out), name)) << kind << ": " << name;
  }
}

/// What stands behind a platform's name is what a scenario may write there.
TEST(List, HostTimesAreWrittenAsScenariosTakeThem) {
  const std::string out = dooly({"list", "host-times"}).out;
  std::string terms;
  for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) {
    const std::string line = out.substr(at, out.find('\n', at) - at);
    const std::size_t value = line.find("h200-vm ") + std::string("h200-vm ").size();
    terms += (terms.empty() ? "" : ", ") + line.substr(0, line.find(' ')) + ": " +
             line.substr(value, line.find(' ', value) - value);
  }
  const Scratch scratch;
  const std::string named = scratch.file("named.yaml", small_scenario() + "platform: h200-vm\n"),
                    single = scratch.file("single.yaml", small_scenario() + "platform: {host: {" + terms + "}}\n"),
                    changed = scratch.file("changed.yaml",
                                           small_scenario() + "platform: {base: h200-vm, host: {turn: " + "0.1ms}}\n");
  const auto mean_s = [](const std::string& scenario) {
    const ProcessResult result = dooly({"run", scenario, "--quiet", "--format", "json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out).at("e2e_s").at("mean").get<double>();
  };
  const double expected_s = mean_s(named);
  EXPECT_NEAR(mean_s(single) / expected_s, 1, 1e-5) << terms;  // six digits are shown
  EXPECT_NEAR(mean_s(changed) / expected_s, 1, 1e-9);          // 0.1 ms is what h200-vm has
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
