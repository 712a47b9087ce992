// Latent attention: how a step is cut, and that its parts together are attention over expanded heads.
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/latent_batch.hpp"

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <vector>

namespace dooly::profiling {
namespace {

using Numbers = std::vector<std::int32_t>;

/// Decodes and short chunks lie first, then chunks with a context, then those without. A short prompt behind a long one
/// is expanded with it.
TEST(LatentLayout, OrdersAndCutsAStep) {
  const std::vector<LatentRequest> requests{{1, 5}, {600, 0}, {3, 4}, {700, 100}, {2, 0}};
  const LatentLayout layout(requests, {.longest_absorbed = 512});
  EXPECT_EQ(layout.order, (std::vector<std::size_t>{0, 2, 3, 1, 4}));
  EXPECT_EQ(layout.decodes, 2U);
  EXPECT_EQ(layout.decode_tokens, 4);
  EXPECT_EQ(layout.longest_decode, 3);
  EXPECT_EQ(layout.prompt_tokens, 1302);
  EXPECT_EQ(layout.longest_prompt, 700);
  EXPECT_EQ(layout.context_queries, 700);
  ASSERT_EQ(layout.contexts.size(), 1U);
  EXPECT_EQ(layout.contexts[0].count, (Numbers{100, 0, 0}));
  EXPECT_EQ(layout.contexts[0].tokens, 100);
}

TEST(LatentLayout, AShortPromptAloneRunsInTheLatent) {
  const std::vector<LatentRequest> requests{{2, 0}, {1, 5}};
  EXPECT_EQ(LatentLayout(requests, {.longest_absorbed = 512}).decodes, 2U);
  EXPECT_EQ(LatentLayout(requests, {.longest_absorbed = 1}).decodes, 1U);
}

/// 48 tokens for two contexts: 24 each, of which whole blocks are 16.
TEST(LatentLayout, ContextsAreExpandedInPiecesThatFitTheWorkspace) {
  const std::vector<LatentRequest> requests{{9, 40}, {5, 20}, {7, 0}};
  const LatentLayout layout(requests, {.longest_absorbed = 1, .block_size = 16, .workspace_tokens = 48});
  ASSERT_EQ(layout.contexts.size(), 3U);
  EXPECT_EQ(layout.contexts[0].count, (Numbers{16, 16, 0}));
  EXPECT_EQ(layout.contexts[1].first, (Numbers{16, 16, 16}));
  EXPECT_EQ(layout.contexts[1].count, (Numbers{16, 4, 0}));
  EXPECT_EQ(layout.contexts[2].count, (Numbers{8, 0, 0}));
  EXPECT_EQ(layout.contexts[2].longest, 8);
}

/// A step whose requests lie in order, each in blocks of its own, and what its attention is by definition.
class LatentStep {
 public:
  static constexpr std::int64_t kHeads = 3, kRank = 10, kNope = 6, kRope = 4, kValue = 5, kBlock = 4;
  static LatentShape shape() { return {kHeads, kRank, kNope, kRope, kValue, 0.4, kBlock}; }

  explicit LatentStep(const std::vector<LatentRequest>& requests) : requests_(requests) {
    at::manual_seed(3);
    std::int64_t tokens = 0, blocks = 1, columns = 0;
    for (const LatentRequest& request : requests) columns = std::max(columns, blocks_of(request));
    Numbers lengths, table;
    std::vector<std::int64_t> slots;
    for (const LatentRequest& request : requests) {
      for (std::int64_t i = 0; i < columns; ++i)
        table.push_back(i < blocks_of(request) ? static_cast<std::int32_t>(blocks + i) : 0);
      for (std::int64_t i = 0; i < request.query; ++i) slots.push_back(blocks * kBlock + request.context + i);
      lengths.push_back(static_cast<std::int32_t>(request.context + request.query));
      starts_.push_back(starts_.back() + static_cast<std::int32_t>(request.query));
      first_block_.push_back(blocks);
      blocks += blocks_of(request);
      tokens += request.query;
    }
    q = at::randn({tokens, kHeads, kNope + kRope});
    cache = at::randn({blocks, kBlock, kRank + kRope});
    up = at::randn({kHeads, kNope + kValue, kRank}) * 0.3;
    const at::Tensor all = at::tensor(slots);
    rows_ = cache.view({-1, kRank + kRope}).index_select(0, all);
    whole_.query_start = at::tensor(starts_, at::kInt);
    whole_.sequence_lengths = at::tensor(lengths, at::kInt);
    whole_.block_table = at::tensor(table, at::kInt).view({-1, columns});
    whole_.slot_mapping = all;
    whole_.max_sequence = *std::max_element(lengths.begin(), lengths.end());
  }

  at::Tensor computed(LatentKernels& kernels, const LatentRules& rules) const {
    const LatentLayout layout(requests_, rules);
    const PutIntegers put = [](const Numbers& values, c10::SymIntArrayRef) { return at::tensor(values, at::kInt); };
    const LatentBatch batch = make_latent_batch(layout, sizes_of(layout, requests_.size()), whole_, starts_, put);
    at::Tensor out = at::full({q.size(0), kHeads, kValue}, 99.0);
    const std::int64_t decodes = layout.decode_tokens, prompts = layout.prompt_tokens;
    if (decodes > 0) attend_decodes(kernels, out.narrow(0, 0, decodes), batch);
    if (prompts == 0) return out;
    at::Tensor to = out.narrow(0, decodes, prompts);
    attend_prompts(kernels, to, q.narrow(0, decodes, prompts), expanded(rows_.narrow(0, decodes, prompts)), cache,
                   batch, shape(), [this](const at::Tensor& rows) { return expanded(rows); });
    return out;
  }

  at::Tensor defined() const {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::int64_t keys = requests_[i].context + requests_[i].query;
      const at::Tensor rows =
          cache.narrow(0, first_block_[i], blocks_of(requests_[i])).view({-1, kRank + kRope}).narrow(0, 0, keys);
      const ExpandedKeys of = expanded(rows);
      const at::Tensor key =
          at::cat({of.kv.narrow(2, 0, kNope), of.k_rope.unsqueeze(1).expand({keys, kHeads, kRope})}, 2);
      const at::Tensor query = q.narrow(0, starts_[i], requests_[i].query);
      at::Tensor scores = at::einsum("qhd,khd->hqk", {query, key}) * shape().scale;
      const at::Tensor position = at::arange(requests_[i].context, keys).unsqueeze(1);
      scores = scores.masked_fill(at::arange(keys).unsqueeze(0) > position, -1e30);
      all.push_back(at::einsum("hqk,khv->qhv", {at::softmax(scores, -1), of.kv.narrow(2, kNope, kValue)}));
    }
    return at::cat(all);
  }

  at::Tensor q, cache, up;

 private:
  static std::int64_t blocks_of(const LatentRequest& request) {
    return (request.context + request.query + kBlock - 1) / kBlock;
  }

  ExpandedKeys expanded(const at::Tensor& rows) const {
    return {at::einsum("tr,hpr->thp", {rows.narrow(1, 0, kRank), up}), rows.narrow(1, kRank, kRope)};
  }

  /// Queries are multiplied with the keys' projection, results with the values'.
  void attend_decodes(LatentKernels& kernels, at::Tensor out, const LatentBatch& batch) const {
    const at::Tensor mine = q.narrow(0, 0, out.size(0));
    at::Tensor absorbed = at::empty({kHeads, out.size(0), kRank});
    kernels.multiply_heads(absorbed, mine.narrow(2, 0, kNope).transpose(0, 1), up.narrow(1, 0, kNope));
    const at::Tensor attended =
        kernels.attend_latent(absorbed.transpose(0, 1), mine.narrow(2, kNope, kRope), cache, batch.decodes, shape());
    at::Tensor by_head = out.transpose(0, 1);
    kernels.multiply_heads(by_head, attended.transpose(0, 1), up.narrow(1, kNope, kValue).transpose(1, 2));
  }

  std::vector<LatentRequest> requests_;
  Numbers starts_{0};
  std::vector<std::int64_t> first_block_;
  at::Tensor rows_;  ///< of the step's tokens
  AttentionMetadata whole_;
};

class LatentAttention : public testing::TestWithParam<LatentRules> {};

TEST_P(LatentAttention, EqualsAttentionOverExpandedHeads) {
  const LatentStep step({{1, 9}, {3, 7}, {6, 21}, {9, 5}, {1, 0}, {7, 0}});
  const auto kernels = make_torch_kernels();
  const at::Tensor got = step.computed(*kernels->latent(), GetParam());
  EXPECT_LT((got - step.defined()).abs().max().item<double>(), 1e-5);
}

/// All but decodes expanded, with contexts in one piece and in many; the short ones absorbed; everything absorbed.
INSTANTIATE_TEST_SUITE_P(Rules, LatentAttention,
                         testing::Values(LatentRules{1, 4, 1000}, LatentRules{1, 4, 24}, LatentRules{3, 4, 9},
                                         LatentRules{512, 4, 1000}));

}  // namespace
}  // namespace dooly::profiling
