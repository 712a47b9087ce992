#include "hand_made.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/compiled_plan.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <array>

namespace dooly::oracle {
namespace {

/// Steps of a shipped model with the shipped store. A chunk of one token runs as a decode, longer ones in other
/// kernels.
class ChunkGrowth : public testing::TestWithParam<const char*> {
 protected:
  static CompiledPlan compiled() {
    const auto source = store::open_sample_source({dooly::test::source_path("stores/h200-vllm.jsonl.zst")});
    CompileSettings settings;
    settings.capture_sizes = CudaGraphs::default_sizes(settings.max_num_seqs, settings.max_num_batched_tokens);
    const std::array<const SampleSource*, 1> sources{source.get()};
    return CompiledPlan(make_plan(find_model(GetParam()), {}), sources, find_gpu("H200"), settings);
  }
  CompiledPlan plan_ = compiled();

  double attention_s(std::uint32_t decodes, std::uint64_t context, std::uint32_t query, std::uint32_t cached) const {
    BatchShape shape = test::decodes(decodes, context);
    const std::array chunk{PrefillChunk{query, cached}};
    shape.prefills = chunk;
    shape.prefill_tokens = query;
    StepCost cost;
    plan_.cost(shape, {}, cost);
    return cost.device.attention;
  }
};

TEST_P(ChunkGrowth, NoChunkIsQuickerThanItsFirstTokenAlone) {
  int compared = 0;
  for (const std::uint32_t decodes : {0u, 1u, 8u, 64u, 256u}) {
    for (const std::uint64_t context : {100u, 1000u, 8000u}) {
      for (const std::uint32_t cached : {0u, 500u, 4000u, 16000u}) {
        const double first = attention_s(decodes, context, 1, cached);
        for (const std::uint32_t query : {2u, 3u, 5u, 8u, 16u, 33u, 64u, 512u, 4096u}) {
          // Of long chunks the first token is not asked: beyond captured sizes windows have a quicker kernel.
          constexpr std::uint32_t kAsked = 64;
          EXPECT_GE(attention_s(decodes, context, query, cached), query > kAsked ? 0.9 * first : first)
              << query << " tokens on " << cached << ", beside " << decodes << " of " << context;
          ++compared;
        }
      }
    }
  }
  EXPECT_EQ(compared, 5 * 3 * 4 * 9);
}

INSTANTIATE_TEST_SUITE_P(Models, ChunkGrowth,
                         testing::Values("meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024"));

}  // namespace
}  // namespace dooly::oracle
