// LibTorch's kernels against plain loops.
#include "profiling_kernels/kernels.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::profiling {
namespace {

at::Tensor random_tensor(at::IntArrayRef shape) { return at::rand(shape) * 2 - 1; }

struct AttentionCase {
  std::int64_t heads, kv_heads;
  double soft_cap;
  std::int64_t window;
  at::ScalarType dtype;
  double tolerance;
};

/// Three requests: a decode, a chunk in the middle of a prompt, a whole prompt; blocks in no order.
struct AttentionFixture {
  static constexpr std::int64_t kDim = 8, kBlock = 4;
  std::vector<std::int64_t> queries{1, 5, 7}, lengths{14, 11, 7};
  std::vector<std::vector<std::int32_t>> blocks{{9, 2, 5, 1}, {3, 8, 4, 0}, {7, 6, 0, 0}};
  AttentionMetadata metadata;
  at::Tensor q, k, v;

  explicit AttentionFixture(const AttentionCase& sizes) {
    q = random_tensor({13, sizes.heads, kDim}).to(sizes.dtype);
    k = random_tensor({10, kBlock, sizes.kv_heads, kDim}).to(sizes.dtype);
    v = random_tensor({10, kBlock, sizes.kv_heads, kDim}).to(sizes.dtype);
    metadata.query_start = at::tensor({0, 1, 6, 13}, at::kInt);
    metadata.sequence_lengths = at::tensor({14, 11, 7}, at::kInt);
    metadata.block_table = at::empty({3, 4}, at::kInt);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) metadata.block_table.mutable_data_ptr<std::int32_t>()[i * 4 + j] = blocks[i][j];
  }

  double cached(const at::Tensor& cache, int request, std::int64_t token, std::int64_t head, std::int64_t d) const {
    return cache[blocks[request][token / kBlock]][token % kBlock][head][d].item<double>();
  }

  /// By the definition, in double.
  at::Tensor expected(const AttentionCase& sizes, double scale) const {
    at::Tensor out = at::zeros({13, sizes.heads, kDim}, at::kDouble);
    std::int64_t row = 0;
    for (int request = 0; request < 3; ++request)
      for (std::int64_t i = 0; i < queries[request]; ++i, ++row)
        for (std::int64_t head = 0; head < sizes.heads; ++head)
          attend(sizes, scale, request, lengths[request] - queries[request] + i, row, head, out);
    return out;
  }

  void attend(const AttentionCase& sizes, double scale, int request, std::int64_t position, std::int64_t row,
              std::int64_t head, at::Tensor& out) const {
    const std::int64_t kv_head = head / (sizes.heads / sizes.kv_heads);
    std::vector<double> sum(kDim, 0.0);
    double total = 0;
    for (std::int64_t token = 0; token <= position; ++token) {
      if (sizes.window > 0 && position - token >= sizes.window) continue;
      double score = 0;
      for (std::int64_t d = 0; d < kDim; ++d)
        score += q[row][head][d].item<double>() * cached(k, request, token, kv_head, d);
      score *= scale;
      if (sizes.soft_cap > 0) score = sizes.soft_cap * std::tanh(score / sizes.soft_cap);
      total += std::exp(score);
      for (std::int64_t d = 0; d < kDim; ++d) sum[d] += std::exp(score) * cached(v, request, token, kv_head, d);
    }
    for (std::int64_t d = 0; d < kDim; ++d)
      out.mutable_data_ptr<double>()[(row * sizes.heads + head) * kDim + d] = sum[d] / total;
  }
};

class PagedAttention : public testing::TestWithParam<AttentionCase> {};

TEST_P(PagedAttention, EqualsItsDefinition) {
  const AttentionCase& sizes = GetParam();
  const AttentionFixture fixture(sizes);
  const AttentionShape shape{.heads = sizes.heads,
                             .kv_heads = sizes.kv_heads,
                             .head_dim = AttentionFixture::kDim,
                             .scale = 0.7,
                             .window = sizes.window,
                             .soft_cap = sizes.soft_cap,
                             .block_size = 4};
  const at::Tensor got = make_torch_kernels()->attention(fixture.q, fixture.k, fixture.v, fixture.metadata, shape);
  EXPECT_EQ(got.scalar_type(), sizes.dtype);
  EXPECT_LT((got.to(at::kDouble) - fixture.expected(sizes, 0.7)).abs().max().item<double>(), sizes.tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PagedAttention,
    testing::Values(AttentionCase{4, 4, 0, 0, at::kFloat, 1e-5}, AttentionCase{4, 2, 0, 0, at::kFloat, 1e-5},
                    AttentionCase{6, 2, 0, 5, at::kFloat, 1e-5}, AttentionCase{4, 1, 1.5, 0, at::kFloat, 1e-5},
                    AttentionCase{4, 2, 1.5, 3, at::kFloat, 1e-5}, AttentionCase{4, 2, 0, 6, at::kBFloat16, 1e-2}));

TEST(TorchKernels, ExpertsAreTheWeightedSumOfTheChosenOnes) {
  const auto kernels = make_torch_kernels();
  const at::Tensor x = random_tensor({5, 8}), gate_up = random_tensor({4, 12, 8}), down = random_tensor({4, 8, 6});
  const auto [weights, ids] = kernels->top_experts(random_tensor({5, 4}), 2, true);
  EXPECT_TRUE(at::allclose(weights.sum(1), at::ones({5})));
  const at::Tensor got = kernels->experts(x, gate_up, down, weights, ids);
  for (int token = 0; token < 5; ++token) {
    at::Tensor sum = at::zeros({8});
    for (int choice = 0; choice < 2; ++choice) {
      const auto expert = ids[token][choice].item<std::int64_t>();
      const at::Tensor hidden = at::matmul(gate_up[expert], x[token]);
      sum +=
          weights[token][choice] * at::matmul(down[expert], at::silu(hidden.narrow(0, 0, 6)) * hidden.narrow(0, 6, 6));
    }
    EXPECT_TRUE(at::allclose(got[token], sum, 1e-4, 1e-5)) << "token " << token;
  }
}

TEST(TorchKernels, TopExpertsWithoutRenormalisingAreSharesOfAll) {
  const at::Tensor logits = at::tensor({0.0F, std::log(2.0F), std::log(5.0F)}).unsqueeze(0);
  const auto [weights, ids] = make_torch_kernels()->top_experts(logits, 2, false);
  EXPECT_NEAR(weights[0][0].item<float>(), 5.0 / 8, 1e-6);
  EXPECT_NEAR(weights[0][1].item<float>(), 2.0 / 8, 1e-6);
  EXPECT_EQ(ids[0][0].item<int>(), 2);
  EXPECT_EQ(ids.scalar_type(), at::kInt);
}

TEST(TorchKernels, AddRmsNormAddsInPlaceAndNormalises) {
  at::Tensor x = random_tensor({3, 8}), residual = random_tensor({3, 8});
  const at::Tensor weight = random_tensor({8}), sum = x + residual;
  make_torch_kernels()->add_rms_norm(x, residual, weight, 1e-6);
  EXPECT_TRUE(at::allclose(residual, sum));
  EXPECT_TRUE(at::allclose(x, sum * (sum * sum).mean(1, true).add(1e-6).rsqrt() * weight, 1e-4, 1e-6));
}

/// Position 2 turns the pair (1, 0) by 2 radians; the rest of a head wider than the rotary part stays.
TEST(TorchKernels, RopeTurnsHalvesOrNeighbours) {
  const at::Tensor angles = at::arange(4, at::kFloat).unsqueeze(1) * at::tensor({1.0F, 0.5F});
  const at::Tensor table = at::cat({at::cos(angles), at::sin(angles)}, 1);
  for (const bool interleaved : {false, true}) {
    at::Tensor q = at::zeros({1, 6}), k = at::zeros({1, 6});
    q[0][0] = 1;  // first of the first pair
    q[0][5] = 3;  // not rotated
    k.copy_(q);
    make_torch_kernels()->rope(at::tensor({2}, at::kLong), q, k, table, 6, interleaved);
    EXPECT_NEAR(q[0][0].item<double>(), std::cos(2.0), 1e-6);
    EXPECT_NEAR(q[0][interleaved ? 1 : 2].item<double>(), std::sin(2.0), 1e-6);
    EXPECT_NEAR(q[0][interleaved ? 2 : 1].item<double>(), 0, 1e-6);
    EXPECT_EQ(q[0][5].item<double>(), 3);
    EXPECT_TRUE(at::allclose(k, q));
  }
}

TEST(TorchKernels, WriteKvPutsTokensIntoTheirSlots) {
  at::Tensor keys = at::zeros({3, 4, 2, 5}), values = at::zeros({3, 4, 2, 5});
  const at::Tensor k = random_tensor({2, 2, 5}), v = random_tensor({2, 2, 5});
  AttentionMetadata metadata;
  metadata.slot_mapping = at::tensor({9, 2}, at::kLong);
  make_torch_kernels()->write_kv(k, v, keys, values, metadata);
  EXPECT_TRUE(at::allclose(keys[2][1], k[0]));
  EXPECT_TRUE(at::allclose(values[0][2], v[1]));
  EXPECT_NEAR(keys.abs().sum().item<double>(), k.abs().sum().item<double>(), 1e-4);
}

}  // namespace
}  // namespace dooly::profiling
