#include "oracle/environment.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/sha256.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace dooly::oracle {
namespace {

Environment h200() {
  Environment environment;
  environment.gpu = "H200-SXM";
  environment.multiprocessors = 132;
  environment.memory_bytes = 150'754'820'096;
  environment.driver = "570.86";
  environment.cuda = "12";
  environment.libraries = {{"vllm", "0.26.0"}, {"flash-attn", "3.0"}};
  environment.topology = "nvlink:2";
  environment.source = "measured";
  return environment;
}

TEST(Environment, CanonicalFormIsFixedForEver) {  // a change here orphans every store
  EXPECT_EQ(canonical_json(h200()),
            R"({"cuda":"12","driver":"570.86","gpu":"H200-SXM","libraries":{"flash-attn":"3.0","vllm":"0.26.0"},)"
            R"("memory_bytes":150754820096,"multiprocessors":132,"source":"measured","topology":"nvlink:2"})");
  EXPECT_EQ(environment_id(h200()), sha256_hex(canonical_json(h200())));
  EXPECT_EQ(parse_environment(canonical_json(h200())), h200());
}

TEST(Environment, OrderAndSpellingDoNotMatter) {
  EXPECT_EQ(parse_environment(
                R"({ "topology":"nvlink:2","source":"measured", "libraries":{"vllm":"0.26.0","flash-attn":"3.0"},)"
                R"("multiprocessors":1.32e2, "memory_bytes":150754820096.0,"gpu":"H\u0032\u0030\u0030-SXM",)"
                R"("driver":"570.86","cuda":"12"})"),
            h200());
}

TEST(Environment, EveryFieldMatters) {
  const std::vector<std::function<void(Environment&)>> changes = {
      [](Environment& at) { at.gpu = "H100-SXM"; },
      [](Environment& at) { at.multiprocessors = 114; },
      [](Environment& at) { at.memory_bytes += 1; },
      [](Environment& at) { at.driver = ""; },
      [](Environment& at) { at.cuda = "13"; },
      [](Environment& at) { at.libraries["vllm"] = "0.27.0"; },
      [](Environment& at) { at.libraries.erase("vllm"); },
      [](Environment& at) { at.topology = ""; },
      [](Environment& at) { at.source = "table"; },
  };
  std::set<std::string> ids = {environment_id(h200())};
  for (const auto& change : changes) {
    Environment environment = h200();
    change(environment);
    ids.insert(environment_id(environment));
  }
  EXPECT_EQ(ids.size(), changes.size() + 1);
}

TEST(Environment, WhatIsNoEnvironmentIsNamed) {
  const auto complaint = [](const char* json) {
    return test::message_of<OracleError>([&] { parse_environment(json); });
  };
  EXPECT_EQ(complaint("{}"), "environment: gpu: missing");
  EXPECT_EQ(complaint(R"({"gpu":"x","multiprocessors":-1})"),
            "environment: multiprocessors: must be a whole number from 0 to 4294967295, got -1");
  EXPECT_EQ(complaint(R"({"gpu":"x","libraries":{"a":1}})"), "environment: libraries.a: must be text, got 1");
}

}  // namespace
}  // namespace dooly::oracle
