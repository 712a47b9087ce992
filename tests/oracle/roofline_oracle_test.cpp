#include "oracle/roofline_oracle.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/oracle_factory.hpp"
#include "test_support/test_data.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

using namespace test;

BatchShape prefill(const std::vector<PrefillChunk>& chunks, std::uint32_t logits) {
  BatchShape shape;
  shape.prefills = chunks;
  for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
  shape.logits_rows = logits;
  return shape;
}

TEST(Roofline, MemoryBoundDecodeByHand) {
  // Bytes of StepWork.TinyModelByHand at 1 MB/s: token operators 1728 + 1808 B, KV cache 160 B.
  const RooflineOracle oracle(tiny_model(), tiny_gpu(kPlenty, 1e6), ideal_settings(), {});
  const StepCost cost = oracle.cost(equal_decodes(1, 9), {});
  EXPECT_NEAR(cost.device.token_ops, 3536e-6, 1e-12);
  EXPECT_NEAR(cost.device.attention, 160e-6, 1e-12);
  EXPECT_EQ(cost.device.collective, 0);
  EXPECT_EQ(cost.device.other, 0);
  EXPECT_DOUBLE_EQ(cost.provenance.roofline, cost.device.total());
  EXPECT_EQ(cost.provenance.measured, 0);
}

TEST(Roofline, ComputeBoundPrefillByHand) {
  // 100 tokens × 1152 FLOPs, one logits row 1024; causal pairs 100·101/2 = 5050 × 4·8 FLOPs; at 1 MFLOP/s.
  const RooflineOracle oracle(tiny_model(), tiny_gpu(1e6, kPlenty), ideal_settings(), {});
  const std::vector<PrefillChunk> chunks{{100, 0}};
  const StepCost cost = oracle.cost(prefill(chunks, 1), {});
  EXPECT_NEAR(cost.device.token_ops, 0.1152 + 0.001024, 1e-12);
  EXPECT_NEAR(cost.device.attention, 0.1616, 1e-12);
}

TEST(Roofline, ChunkOnCachedTokensByHand) {
  // 10 queries on 40 cached tokens: pairs 10·40 + 55 = 455 × 32 FLOPs.
  const RooflineOracle oracle(tiny_model(), tiny_gpu(1e6, kPlenty), ideal_settings(), {});
  const std::vector<PrefillChunk> chunks{{10, 40}};
  const StepCost cost = oracle.cost(prefill(chunks, 0), {});
  EXPECT_NEAR(cost.device.token_ops, 0.01152, 1e-12);  // no logits
  EXPECT_NEAR(cost.device.attention, 0.01456, 1e-12);
}

TEST(Roofline, EachOperatorTakesItsOwnMaximum) {
  // 1 MFLOP/s and 1 MB/s, one token: qkv 304 B > 256 FLOPs, output 160 > 128, gate and up 592 > 512, down 304 > 256:
  // all by bytes. 100 tokens: qkv 25600 FLOPs > 256 + 4800 B, so by FLOPs: 115200; the rest stays bytes: 100 × (32 +
  // 96 + 80 + 96 + 64) = 36800.
  const RooflineOracle oracle(tiny_model(), tiny_gpu(1e6, 1e6), ideal_settings(), {});
  const std::vector<PrefillChunk> chunks{{100, 0}};
  EXPECT_NEAR(oracle.cost(prefill(chunks, 0), {}).device.token_ops, 0.152, 1e-12);
}

TEST(Roofline, KernelsTakeTheirStart) {
  RooflineSettings settings = ideal_settings();
  settings.efficiency.kernel_seconds = 1;
  const RooflineOracle oracle(tiny_model(), tiny_gpu(kPlenty, kPlenty), settings, {});
  const StepCost cost = oracle.cost(equal_decodes(1, 9), {});
  // embedding, 2 norms, qkv, rotary, cache, output, gate and up, activation, down, final norm; head, sampling.
  EXPECT_NEAR(cost.device.token_ops, 11 + 2, 1e-9);
  EXPECT_NEAR(cost.device.attention, 1, 1e-9);
}

TEST(Roofline, EfficienciesDivideThePeaks) {
  RooflineSettings settings = ideal_settings();
  settings.efficiency.memory = 0.5;
  const RooflineOracle oracle(tiny_model(), tiny_gpu(kPlenty, 1e6), settings, {});
  EXPECT_NEAR(oracle.cost(equal_decodes(1, 9), {}).device.token_ops, 2 * 3536e-6, 1e-12);
}

TEST(AllReduce, OneShotAndRingByHand) {
  Efficiency e;
  e.link = 1;
  e.one_shot_seconds = 5e-6;
  e.ring_hop_seconds = 1.5e-6;
  // 4 GPUs, 1 GB/s. 1 kB: one shot 5 + 3 × 1 = 8 µs; ring 6 × 1.5 + 1.5 × 1 = 10.5 µs.
  EXPECT_NEAR(all_reduce_seconds(1e3, 4, 1e9, true, e), 8e-6, 1e-15);
  // 1 MB: one shot 3,005 µs; ring 9 + 1,500 µs.
  EXPECT_NEAR(all_reduce_seconds(1e6, 4, 1e9, true, e), 1509e-6, 1e-12);
  EXPECT_EQ(all_reduce_seconds(1e6, 1, 1e9, true, e), 0);
  EXPECT_GT(all_reduce_seconds(1e3, 4, 1e9, false, e), all_reduce_seconds(1e3, 4, 1e9, true, e));
}

TEST(Roofline, TensorParallelByHand) {
  RooflineSettings settings = ideal_settings();
  settings.execution.tensor_parallel = 2;
  const RooflineOracle oracle(tiny_model(), tiny_gpu(kPlenty, kPlenty), settings, {});
  // 2 × 1 layer + embedding = 3 all-reduces of 8 × 2 B over 1 MB/s: a ring of two moves 16 B each; logits: 64/2 × 2 B.
  EXPECT_NEAR(oracle.cost(equal_decodes(1, 9), {}).device.collective, 3 * 16e-6 + 64e-6, 1e-12);
  settings.link_bandwidth = 2e6;
  const RooflineOracle faster(tiny_model(), tiny_gpu(kPlenty, kPlenty), settings, {});
  EXPECT_NEAR(faster.cost(equal_decodes(1, 9), {}).device.collective, (3 * 16e-6 + 64e-6) / 2, 1e-12);
}

TEST(Roofline, ExpertsAreReadByTheNumberHit) {
  const ModelConfig model = parse_model(R"({"model_type": "mixtral", "hidden_size": 8, "intermediate_size": 16,
    "num_local_experts": 4, "num_experts_per_tok": 1, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 64, "max_position_embeddings": 128})",
                                        "m");
  const RooflineOracle oracle(model, tiny_gpu(kPlenty, 1e6), ideal_settings(), {});
  const double one = oracle.cost(equal_decodes(1, 0), {}).device.token_ops;
  const double two = oracle.cost(equal_decodes(2, 0), {}).device.token_ops;
  // An expert: 3 × 8 × 16 × 2 B = 768. Of four, one token hits 1, two tokens 4 × 7/16 = 1.75. Beside weights, a token
  // moves: embedding 32, norms 96 + 64, qkv 48, rotary and cache 80, output 32, router 24, its choice 8 + 8, experts
  // 80 + 96 + 48 + sum 32, head 144, sampling 640 = 1432 B.
  EXPECT_NEAR(two - one, (0.75 * 768 + 1432) * 1e-6, 1e-12);
}

TEST(Roofline, DecodesArePaddedToCaptureSizes) {
  RooflineSettings settings = ideal_settings();
  settings.capture_sizes = CudaGraphs::default_sizes(64, 256);
  const RooflineOracle oracle(tiny_model(), tiny_gpu(1e6, kPlenty), settings, {});
  const auto ops = [&](std::uint32_t n) {
    BatchShape shape = equal_decodes(n, 9);
    shape.logits_rows = 0;
    return oracle.cost(shape, {}).device.token_ops;
  };
  EXPECT_DOUBLE_EQ(ops(3), ops(4));
  EXPECT_DOUBLE_EQ(ops(17), ops(24));
  EXPECT_LT(ops(16), ops(17));
  EXPECT_NEAR(ops(17), 24 * 1152e-6, 1e-9);
  EXPECT_NEAR(ops(129), 129 * 1152e-6, 1e-9);  // above 2 × 64: not captured
}

TEST(Roofline, BeyondTheTableTheFormulasGoOn) {
  RooflineSettings small = ideal_settings();
  small.max_num_batched_tokens = 8;
  small.max_num_seqs = 4;
  const RooflineOracle a(tiny_model(), tiny_gpu(1e6, 1e6), small, {});
  const RooflineOracle b(tiny_model(), tiny_gpu(1e6, 1e6), ideal_settings(), {});
  EXPECT_EQ(a.cost(equal_decodes(60, 9), {}).device.total(), b.cost(equal_decodes(60, 9), {}).device.total());
}

TEST(Roofline, RefusesAbsurdSettings) {
  RooflineSettings settings = ideal_settings();
  settings.max_num_batched_tokens = 0;
  EXPECT_THROW(RooflineOracle(tiny_model(), tiny_gpu(1, 1), settings, {}), OracleError);
  settings = ideal_settings();
  settings.execution.tensor_parallel = 3;
  EXPECT_THROW(RooflineOracle(tiny_model(), tiny_gpu(1, 1), settings, {}), OracleError);
}

TEST(Roofline, WorkAndTimeAgreeOnAnIdealDevice) {
  // With endless FLOP/s, time × bandwidth is the bytes of step_work.
  for (const char* name : {"meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite",
                           "CohereForAI/c4ai-command-r7b-12-2024"}) {
    RooflineSettings settings = ideal_settings();
    const RooflineOracle oracle(find_model(name), tiny_gpu(kPlenty, 1e9), settings, {});
    const std::vector<PrefillChunk> chunks{{33, 100}, {20, 5000}};
    BatchShape shape = equal_decodes(7, 6000);
    shape.prefills = chunks;
    shape.prefill_tokens = 53;
    const double bytes = oracle.cost(shape, {}).device.total() * 1e9;
    EXPECT_NEAR(bytes / step_work(oracle.operators(), shape).bytes, 1, 1e-9) << name;
  }
}

TEST(Roofline, IsWithinAFactorOfTwoOfAnH200) {
  // Decode and large prefill steps of a real engine; smaller prompts are bound by that machine's host.
  const auto path = dooly::test::data_path("groundtruth-h200/Llama-3.1-8B/sweep.csv");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "missing " << path;
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  OracleParameters parameters;
  parameters.model = &model;
  parameters.gpu = &find_gpu("H200");
  parameters.roofline.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
  const auto oracle = make_oracle("roofline", parameters);
  std::string line;
  std::getline(file, line);
  int compared = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const auto decodes = static_cast<std::uint32_t>(std::stoul(cells.at(1)));
    const auto tokens = static_cast<std::uint32_t>(std::stoul(cells.at(4)));
    if (cells[0] != "decode" && tokens < 2048) continue;
    const std::vector<PrefillChunk> chunks(tokens > 0 ? 1 : 0,
                                           {tokens, static_cast<std::uint32_t>(std::stoul(cells.at(5)))});
    BatchShape shape = equal_decodes(decodes, std::strtoull(cells.at(2).c_str(), nullptr, 10));
    shape.prefills = chunks;
    shape.prefill_tokens = tokens;
    shape.logits_rows = shape.requests();
    const double ratio = oracle->cost(shape, {}).device.total() * 1e6 / std::stod(cells.at(10));
    EXPECT_GT(ratio, 0.5) << line;
    EXPECT_LT(ratio, 2) << line;
    ++compared;
  }
  EXPECT_GT(compared, 60);
}

}  // namespace
}  // namespace dooly::oracle
