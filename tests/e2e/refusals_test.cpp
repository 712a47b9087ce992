#include "program_run.hpp"

#include <gtest/gtest.h>

namespace dooly::e2e {
namespace {

/// `dooly check` of synthetic.yaml with these settings; what it says, or "ok".
std::string refusal(const Sets& sets) {
  std::vector<std::string> line{"check", scenario_path("synthetic.yaml")};
  for (const std::string& word : as_arguments(sets)) line.push_back(word);
  const cli::ProcessResult result = cli::dooly(line);
  EXPECT_EQ(result.code, result.err.empty() ? 0 : 2);
  return result.err.empty() ? "ok" : result.err;
}
bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Refusals, ParallelismThatIsNotBuiltYetIsRefusedByName) {
  EXPECT_EQ(refusal({"pools.main.parallel.pp=1", "pools.main.parallel.dp=1"}), "ok");
  for (const int stages : {2, 16, 32, 33}) {
    const std::string said = refusal({"pools.main.parallel.pp=" + std::to_string(stages)});
    EXPECT_TRUE(mentions(said, "parallel.pp") && mentions(said, "not built yet")) << said;
  }
  for (const Sets& sets : {Sets{"pools.main.parallel.dp=8", "pools.main.parallel.ep=8"},
                           Sets{"model=Qwen/Qwen3-30B-A3B", "tp=2", "pools.main.parallel.ep=8"},
                           Sets{"tp=2", "pools.main.parallel.dp=2"}}) {
    const std::string said = refusal(sets);
    EXPECT_TRUE(mentions(said, "not built yet")) << said;
  }
}

TEST(Refusals, ExpertsAreSharedByTheGpusOfAReplica) {
  EXPECT_EQ(refusal({"model=Qwen/Qwen3-30B-A3B", "tp=2", "pools.main.parallel.ep=2"}), "ok");
  const std::string said = refusal({"pools.main.parallel.ep=8"});
  EXPECT_TRUE(mentions(said, "parallel.ep") && mentions(said, "has no experts")) << said;
}

TEST(Refusals, ATensorParallelSizeThatDoesNotDivideNamesTheHeads) {
  const std::string said = refusal({"tp=3"});
  EXPECT_TRUE(mentions(said, "tensor parallel size 3 does not divide the number of attention heads 32")) << said;
}

/// 69 G parameters of 2 bytes.
TEST(Refusals, AModelThatDoesNotFitSaysWhatIsMissingAndTheSmallestSizeThatFits) {
  const std::string said = refusal({"model=meta-llama/Llama-2-70b-hf", "gpu=A100-SXM-80GB"});
  EXPECT_TRUE(mentions(said, "weights 138.0 GB")) << said;
  EXPECT_TRUE(mentions(said, "63.0 GB are missing; the smallest tensor parallel size that fits is 2")) << said;
  EXPECT_EQ(refusal({"model=meta-llama/Llama-2-70b-hf", "gpu=A100-SXM-80GB", "tp=2"}), "ok");
}

/// Llama-3.1-8B has 8 KV heads. A block has 16 x 2 x 8 x 128 x 2 B x 32 layers = 2 MiB over all ranks; a rank holds one
/// head at least.
TEST(Refusals, MoreRanksThanKvHeadsStoreEachHeadTwice) {
  const auto block = [](const char* ranks) {
    const cli::ProcessResult result =
        cli::dooly({"explain", scenario_path("synthetic.yaml"), "--set", std::string("tp=") + ranks});
    const std::size_t at = result.out.find("blocks of ");
    return at == std::string::npos ? result.err : result.out.substr(at, 20);
  };
  EXPECT_EQ(block("1"), "blocks of 2.000 MiB:");
  EXPECT_EQ(block("4"), "blocks of 0.500 MiB:");
  EXPECT_EQ(block("8"), "blocks of 0.250 MiB:");
  EXPECT_EQ(block("16"), "blocks of 0.250 MiB:");
}

TEST(Refusals, WhatTheChosenPolicyDoesNotUseIsRefused) {
  for (const char* set :
       {"engine.speculative_config={method: ngram}", "engine.num_speculative_tokens=3",
        "scheduler={policy: vllm-v1, options: {batch_size: 4}}", "scheduler={policy: static, options: {alpha: 1}}",
        "router={policy: round_robin, options: {load: tokens}}",
        "workload.synthetic.arrivals={process: poisson, rate: 1/s, cv: 2}", "oracle={kind: roofline, base: 1ms}",
        "kv_transfer={first_token: prefill}"}) {
    EXPECT_NE(refusal({set}), "ok") << set;
  }
}

TEST(Refusals, AnOperatorWithoutDataIsNeverZero) {
  const std::string said = refusal({"oracle={kind: profiled, store: nowhere}"});
  EXPECT_TRUE(mentions(said, "no such store")) << said;
}

TEST(Refusals, AWarmStartIsNotPretended) { EXPECT_TRUE(mentions(refusal({"engine.prewarm=true"}), "not built yet")); }

}  // namespace
}  // namespace dooly::e2e
