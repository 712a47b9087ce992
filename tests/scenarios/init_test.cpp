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

}  // namespace
}  // namespace dooly::scenario
