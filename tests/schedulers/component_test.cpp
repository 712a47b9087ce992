#include "schedulers/component.hpp"

#include "schedulers/builtin.hpp"
#include "schedulers/component_error.hpp"

#include "dooly/sdk/testing/fake_router_view.hpp"
#include "oracle/latency_oracle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dooly::schedulers {
namespace {

const GivenOptions kNone;

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const ComponentError& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Builtins, EveryNameOfTheScenarioFormatIsThere) {
  std::vector<std::string> names;
  for (const auto& router : builtin_routers()) names.emplace_back(router.name);
  EXPECT_EQ(names, (std::vector<std::string>{"round_robin", "random", "least_requests", "least_tokens", "power_of_two",
                                             "prefix_aware"}));
  names.clear();
  for (const auto& policy : builtin_policies()) names.emplace_back(policy.name);
  EXPECT_EQ(names, (std::vector<std::string>{"vllm-v1", "static"}));
}

TEST(Builtins, DefaultsOfEverySchemaAreLegal) {
  for (const auto& policy : builtin_policies()) {
    EXPECT_NE(find_policy({.name = policy.name, .options = kNone}).make(), nullptr) << policy.name;
    EXPECT_STRNE(policy.help, "");
  }
  for (const auto& router : builtin_routers()) {
    EXPECT_NE(find_router({.name = router.name, .options = kNone}).make(), nullptr) << router.name;
    EXPECT_STRNE(router.help, "");
  }
}

TEST(FindPolicy, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(message_of([] { find_policy({.name = "statik", .options = kNone}); }),
            "unknown policy, did you mean 'static', got statik; allowed: vllm-v1, static");
  EXPECT_EQ(check_router({.name = "fastest", .options = kNone}),
            (std::vector<OptionProblem>{{"",
                                         "unknown router, got fastest; allowed: round_robin, random, least_requests, "
                                         "least_tokens, power_of_two, prefix_aware"}}));
}

TEST(FindPolicy, EveryBadOptionIsNamed) {
  const GivenOptions options = {{"batch_size", "0"}, {"batch", "4"}};
  EXPECT_EQ(check_policy({.name = "static", .options = options}).size(), 2U);
  EXPECT_EQ(message_of([&] { find_policy({.name = "static", .options = options}); }),
            "policy 'static': option 'batch': unknown option; allowed: batch_size\n"
            "policy 'static': option 'batch_size': must be at least 1, got 0");
}

TEST(FindRouter, APluginsRouterIsCreatedWithItsOptions) {
  const std::filesystem::path plugin = FIXTURES "/good.so";
  const GivenOptions options = {{"offset", "1"}};
  const auto router = find_router({.plugin = &plugin, .name = "last", .options = options}).make();
  const sdk::testing::FakeRouterView view(std::vector<sdk::ReplicaSignal>(5));
  EXPECT_EQ(router->pick(view, {}), 3U);
}

TEST(FindPolicy, APluginWithoutTheNameListsWhatItHas) {
  const std::filesystem::path plugin = FIXTURES "/good.so";
  EXPECT_EQ(message_of([&] { find_policy({.plugin = &plugin, .name = "idol", .options = kNone}); }),
            "unknown policy in plug-in " FIXTURES "/good.so, did you mean 'idle', got idol; allowed: idle");
}

TEST(FindOracle, APluginsOracleAnswers) {
  const std::filesystem::path plugin = FIXTURES "/good.so";
  EXPECT_EQ(check_oracle({.plugin = &plugin, .name = "per-token", .options = kNone}).size(), 1U);  // required option
  const GivenOptions options = {{"per_token", "0.5"}};
  const auto made = find_oracle({.plugin = &plugin, .name = "per-token", .options = options})
                        .make(sdk::OracleTarget{.model = "m", .dtype = "bfloat16", .gpu = "g", .tensor_parallel = 2});
  EXPECT_EQ(made->name(), "per-token");
  oracle::BatchShape shape;
  shape.decodes = 4;
  EXPECT_EQ(made->cost(shape, {}).device.token_ops, 1.0);  // 4 tokens x 0.5 s / 2
}

TEST(FindOracle, ThereAreNoneBuiltIn) {
  EXPECT_EQ(message_of([] { find_oracle({.name = "roofline", .options = kNone}); }),
            "unknown oracle, got roofline; there are no oracles");
}

}  // namespace
}  // namespace dooly::schedulers
