#include "hand_made.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/compiled_plan.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <array>
#include <span>

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
    const std::array chunk{PrefillChunk{query, cached}};
    return attention_s(test::decodes(decodes, context), chunk);
  }
  double attention_s(BatchShape shape, std::span<const PrefillChunk> chunks) const {
    shape.prefills = chunks;
    for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
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

/// As a turn that follows on a cached conversation, beside a new prompt.
TEST_P(ChunkGrowth, AShortChunkOnALongContextIsNotLostBesideAPrompt) {
  for (const std::uint32_t decodes : {0u, 8u, 64u}) {
    for (const std::uint32_t cached : {8000u, 32000u}) {
      for (const std::uint32_t prompt : {600u, 2000u, 4000u}) {
        const auto with = [&](std::uint32_t query) {
          const std::array chunks{PrefillChunk{query, cached}, PrefillChunk{prompt, 0}};
          return attention_s(test::decodes(decodes, 1000), chunks);
        };
        for (const std::uint32_t query : {2u, 8u, 33u, 100u})
          EXPECT_GE(with(query), with(1)) << query << " on " << cached << " beside " << prompt << " and " << decodes;
      }
    }
  }
}

/// Captured decodes run in the kernel of windows, more of them in the one without while they are within it, of which
/// nobody measured two lengths.
TEST_P(ChunkGrowth, UnequalDecodesWithinAWindowTakeAboutAsLongAsEqualOnes) {
  for (const std::uint32_t decodes : {510u, 514u, 900u}) {
    BatchShape shape = test::decodes(decodes, 2000);
    const double equal = attention_s(shape, {});
    const std::uint64_t half = decodes / 2;
    shape.decode_context_squares = half * (1000 * 1000 + 3000 * 3000);
    shape.decode_context_cubes = half * (1000ULL * 1000 * 1000 + 3000ULL * 3000 * 3000);
    shape.decode_longest = 3000;
    EXPECT_NEAR(attention_s(shape, {}) / equal, 1, 0.2) << decodes;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ChunkGrowth,
                         testing::Values("meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024"));

}  // namespace
}  // namespace dooly::oracle
