#include "scenarios/write.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

namespace dooly::scenario {
namespace {

TEST(Init, TheTemplateLoads) {
  const Scenario scenario = test::load(init_template());
  EXPECT_EQ(scenario.pools[0].model.config, "meta-llama/Meta-Llama-3.1-8B");
}

TEST(Init, TranslatesVllmServe) {
  const Scenario scenario = test::load(init_from_vllm(
      "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 --max_num_seqs=256 --no-enable-prefix-caching \\\n"
      "  --enable-chunked-prefill --gpu-memory-utilization 0.9 --enforce-eager --dtype bfloat16 --port 8000 "
      "--served-model-name 'my model' --disable-log-requests --kv-cache-dtype fp8"));
  const Pool& pool = scenario.pools[0];
  EXPECT_EQ(pool.parallel.tp, 2u);
  EXPECT_EQ(pool.model.dtype, "bfloat16");
  EXPECT_EQ(pool.engine.max_num_seqs, 256u);
  EXPECT_FALSE(pool.engine.enable_prefix_caching);
  EXPECT_EQ(pool.engine.gpu_memory_utilization, 0.9);
  EXPECT_EQ(pool.engine.kv_cache_dtype, "fp8");
  ASSERT_TRUE(pool.engine.cudagraph_capture_sizes);
  EXPECT_TRUE(pool.engine.cudagraph_capture_sizes->empty());
}

TEST(Init, NamesEveryFlagItDoesNotKnow) {
  try {
    init_from_vllm("vllm serve m --max-num-seq 3 --quantization awq -pp 2 --block-size");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.messages(), (std::vector<std::string>{
                                    "unknown flag '--max-num-seq', did you mean '--max-num-seqs'",
                                    "unknown flag '--quantization'",
                                    "'-pp 2' is not built yet in this version; allowed: 1",
                                    "'--block-size' needs a value",
                                }));
  }
  EXPECT_THROW(init_from_vllm("vllm serve"), ScenarioError);
}

TEST(Init, BadValuesAreNamedByTheirKey) {
  try {
    init_from_vllm("vllm serve m --block-size 0");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_STREQ(error.what(), "vllm serve:8:15: engine.block_size: must be a whole number from 1 to 1024, got 0");
  }
}

std::string lengths(std::string_view text) {
  const std::size_t from = text.find("prompt_tokens:");
  return std::string(text.substr(from, text.find("  slo:", from) - from));
}

TEST(Init, LengthsFitTheLongestContext) {
  // 4096 / 10240 of 8192 and 2048 tokens, and of their means and 99th percentiles.
  const std::string scaled =
      "prompt_tokens: {lognormal: {mean: 462, p99: 1600, max: 3276}}\n"
      "    output_tokens: {lognormal: {mean: 84, p99: 360, max: 819}}\n";
  EXPECT_EQ(lengths(init_from_vllm("vllm serve m --max-model-len 4096")), scaled);
  const auto context = [](const std::string& model) -> std::optional<std::uint64_t> {
    return model == "m" ? std::optional<std::uint64_t>(4096) : std::nullopt;
  };
  EXPECT_EQ(lengths(init_from_vllm("vllm serve m", {}, context)), scaled);
  EXPECT_NE(init_from_vllm("vllm serve other", {}, context).find("max: 8192"), std::string::npos);
  for (const char* length : {"1", "2", "7", "100"})
    EXPECT_NO_THROW(init_from_vllm("vllm serve m --max-model-len " + std::string(length))) << length;
}

TEST(Init, AnUnknownModelIsNamed) {
  try {
    init_from_vllm("vllm serve Qwen3", test::known_names());
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown model"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("did you mean 'Qwen/Qwen3-8B'"), std::string::npos);
  }
}

}  // namespace
}  // namespace dooly::scenario
