// What an attention model remembers of the decodes last asked for must not show: a copy, which remembers nothing, gives
// the same answer to the bit.
#include "oracle_profiled/attention_model.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

using Contexts = std::vector<std::uint32_t>;

BatchShape shape_of(const Contexts& contexts) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = static_cast<std::uint32_t>(contexts.size());
  for (const std::uint64_t context : contexts) {
    shape.decode_context += context;
    shape.decode_context_squares += context * context;
    shape.decode_context_cubes += context * context * context;
  }
  shape.decode_longest = *std::max_element(contexts.begin(), contexts.end());
  return shape;
}

class Serving {
 public:
  explicit Serving(const AttentionModel& model) : asked_(model), model_(&model) {}

  /// Steps of a batch that requests enter and leave, some planned ahead and not taken, some beside a chunk.
  void run(int rounds) {
    Contexts contexts(1 + random_(40));
    for (std::uint32_t& context : contexts) context = random_(1500);
    for (int round = 0; round < rounds; ++round) {
      step(contexts, 1 + random_(6));
      const std::uint32_t event = random_(5);
      if (event == 0 && contexts.size() > 1) contexts.pop_back();
      if (event == 1) contexts.push_back(random_(3000));
      if (event == 2) beside_chunk(contexts);
      if (event == 3) ahead(contexts);
      if (event == 4) spread(contexts);
    }
  }

 private:
  std::uint32_t random_(std::uint32_t below) { return static_cast<std::uint32_t>(engine_() % below); }

  void step(Contexts& contexts, std::uint32_t steps) {
    for (std::uint32_t i = 0; i < steps; ++i) {
      BatchShape shape = shape_of(contexts);
      if (random_(8) == 0) shape.shared_tokens = 16, shape.repeated_tokens = 48;
      if (random_(8) == 0) shape.decode_longest = 0;  // not told
      if (random_(8) == 0) shape.decode_context_cubes = 0;
      const AttentionModel fresh = *model_;
      ASSERT_EQ(asked_.decode_seconds(shape), fresh.decode_seconds(shape)) << shape.decodes;
      for (std::uint32_t& context : contexts) ++context;
    }
  }
  void beside_chunk(const Contexts& contexts) {
    const std::vector<PrefillChunk> chunks(1 + random_(2), {2 + random_(600), 16 * random_(40)});
    BatchShape shape = shape_of(contexts);
    shape.prefills = chunks;
    for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
    const ChunkSums sums = ChunkSums::of(shape);
    const AttentionModel fresh = *model_;
    const AttentionModel::Result one = asked_.at(shape, sums), other = fresh.at(shape, sums);
    ASSERT_EQ(one.seconds, other.seconds);
    ASSERT_EQ(one.decode_seconds, other.decode_seconds);
    ASSERT_EQ(one.clock_seconds, other.clock_seconds);
  }
  /// As many tokens in all, the same longest, more unequal.
  void spread(Contexts& contexts) {
    std::sort(contexts.begin(), contexts.end());
    if (contexts.size() < 3) return;
    const std::size_t last = contexts.size() - 2;
    const std::uint32_t moved = std::min(contexts[0], contexts[last + 1] - contexts[last]);
    contexts[0] -= moved;
    contexts[last] += moved;
  }
  void ahead(Contexts contexts) {
    std::vector<double> steps(1 + random_(200), 0.0);
    const BatchShape first = shape_of(contexts);
    asked_.walk_from(first).add_to(steps, 1, first);
    for (const double seconds : steps) {
      const AttentionModel fresh = *model_;
      ASSERT_EQ(seconds, fresh.decode_seconds(shape_of(contexts)));
      for (std::uint32_t& context : contexts) ++context;
    }
  }

  AttentionModel asked_;
  const AttentionModel* model_;
  std::mt19937_64 engine_{7};
};

TEST(SteadyDecodes, OfEveryShippedAttentionAreAnsweredAsIfAskedAlone) {
  for (const char* store : {"h200-vllm", "h200-triton"}) {
    const auto source = store::open_sample_source({test::source_path(std::string("stores/") + store + ".jsonl.zst")});
    int models = 0;
    for (const SampleSet& set : source->sets()) {
      if (set.key.kind != "attention" || models == 6) continue;
      SCOPED_TRACE(set.key.kind + " " + set.signature.hex());
      const AttentionModel model(set.samples, attention_roofline(set.key, find_gpu("H200"), {}), {512, 32768});
      Serving(model).run(60);
      if (testing::Test::HasFatalFailure()) return;
      ++models;
    }
    EXPECT_GT(models, 1) << store;
  }
}

}  // namespace
}  // namespace dooly::oracle
