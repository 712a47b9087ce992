// Attention whose launches are cut into tiles: models fitted on made-up laws of those tiles.
#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/profiled_oracle.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"

#include <gtest/gtest.h>
#include <array>
#include <bit>
#include <cmath>

namespace dooly::oracle {
namespace {

using test::sample;

OperatorKey key_of(std::uint32_t window = 0) {
  AttentionWork shape;
  shape.heads = 32, shape.kv_heads = 8, shape.head_dim = 128, shape.window = window;
  return attention_key("bfloat16", "bfloat16", shape, "fa3");
}

AttentionRoofline work_of(std::uint32_t window = 0) { return attention_roofline(key_of(window), find_gpu("H200"), {}); }

constexpr AttentionModel::Limits kLimits{256, 32768};

/// 7 µs, 2 µs for a tile each, 1.9 µs for a block until the last tile ends, 1 µs where splits are combined.
double law(const FlashTiles::Launch& launch, std::uint32_t window = 0) {
  const FlashTiles::Terms terms = work_of(window).tiles->terms(launch);
  return 7e-6 + 2e-6 * terms[FlashTiles::kTiles] + 1e-6 * terms[FlashTiles::kSplits] +
         1.9e-6 * (terms[FlashTiles::kSchedule] + terms[FlashTiles::kWindowBlocks]);
}

FlashTiles::Launch two_lengths(double n, double few, double many, double most) {
  return {.decodes = n - many, .attended = few, .long_decodes = many, .long_attended = most};
}

std::vector<Sample> ragged(std::uint32_t window) {
  std::vector<Sample> samples;
  for (const std::uint64_t n : {8, 32, 128})
    for (const std::uint64_t few : {256, 1024})
      for (const std::uint64_t many : {std::uint64_t{1}, n / 8, n / 2})
        for (const std::uint64_t most : {2048, 8192})
          samples.push_back(sample({0, 0, 0, n, few - 1, many, most - 1},
                                   law(two_lengths(double(n), double(few), double(many), double(most)), window)));
  return samples;
}

std::vector<Sample> even(std::uint32_t window) {
  std::vector<Sample> samples;
  for (const std::uint64_t n : {1, 3, 6, 8, 16, 17, 32, 64, 128, 256})
    for (const std::uint64_t a : {64, 500, 1024, 3000, 8192})
      samples.push_back(sample({0, 0, 0, n, a - 1}, law({double(n), double(a)}, window)));
  return samples;
}

std::vector<Sample> decodes_of(std::uint32_t window = 0) {
  std::vector<Sample> samples = even(window), uneven = ragged(window);
  samples.insert(samples.end(), uneven.begin(), uneven.end());
  return samples;
}

BatchShape uneven_shape(std::uint64_t n, std::uint64_t few, std::uint64_t many, std::uint64_t most) {
  BatchShape shape;
  shape.decodes = static_cast<std::uint32_t>(n);
  shape.decode_context = (n - many) * few + many * most;
  shape.decode_context_squares = (n - many) * few * few + many * most * most;
  shape.decode_longest = static_cast<std::uint32_t>(most);
  return shape;
}

BatchShape told(BatchShape shape, std::uint64_t few, std::uint64_t many, std::uint64_t most) {
  shape.decode_context_cubes = (shape.decodes - many) * few * few * few + many * most * most * most;
  return shape;
}

TEST(TileModel, DecodesFollowTheStepsBetweenMeasuredNumbers) {
  const AttentionModel model(decodes_of(), work_of(), kLimits);
  // Neither number nor length was measured: 33 fill two waves, 34 need a third, 50 a fourth.
  for (const std::uint32_t n : {2U, 5U, 10U, 20U, 33U, 34U, 49U, 50U, 100U})
    for (const std::uint64_t a : {640, 2048, 4096})
      EXPECT_NEAR(model.decode_seconds(test::decodes(n, a - 1)) / law({double(n), double(a)}), 1, 0.01)
          << n << " " << a;
  EXPECT_GT(model.decode_seconds(test::decodes(34, 4095)), 1.2 * model.decode_seconds(test::decodes(33, 4095)));
  // Seven are split in three and need a second wave that eight, split in two, do not.
  EXPECT_GT(model.decode_seconds(test::decodes(7, 4095)), model.decode_seconds(test::decodes(8, 4095)));
}

TEST(TileModel, DecodesNeverFallWithTheContext) {
  const AttentionModel model(decodes_of(), work_of(), kLimits);
  for (const std::uint32_t n : {1U, 3U, 17U, 100U, 300U}) {
    double before = 0;
    for (std::uint64_t c = 0; c < 40000; c += 31) {
      const double seconds = model.decode_seconds(test::decodes(n, c));
      EXPECT_GE(seconds, before * (1 - 1e-12)) << n << " " << c;
      before = seconds;
    }
    EXPECT_GT(model.decode_seconds(test::decodes(n, 0)), 0);
  }
}

TEST(TileModel, UnevenDecodesAreTwoLengthsWithTheSameLongest) {
  const AttentionModel model(decodes_of(), work_of(), kLimits);
  for (const auto& [n, few, many, most] :
       {std::array<std::uint64_t, 4>{50, 400, 3, 6000}, {100, 1000, 1, 12000}, {20, 300, 10, 3000}}) {
    const double wanted = law(two_lengths(double(n), double(few + 1), double(many), double(most + 1)));
    EXPECT_NEAR(model.decode_seconds(uneven_shape(n, few, many, most)) / wanted, 1, 0.02) << n;
  }
  // One long one among many cannot be told from several less long ones by the sums alone.
  BatchShape untold = uneven_shape(100, 1000, 1, 12000);
  untold.decode_longest = 0;
  EXPECT_NE(model.decode_seconds(untold), model.decode_seconds(uneven_shape(100, 1000, 1, 12000)));
  // Nearly equal ones take the time of equal ones.
  EXPECT_NEAR(model.decode_seconds(uneven_shape(64, 2000, 32, 2001)) / model.decode_seconds(test::decodes(64, 2000)), 1,
              0.01);
}

TEST(TileModel, BeyondTheWindowAnotherKernelRuns) {
  std::vector<Sample> samples = decodes_of(4096);
  for (const std::uint64_t n : {1, 4, 8, 17, 64})
    samples.push_back(sample({0, 0, 0, n, 16383}, law({double(n), 16384}, 4096)));
  const AttentionModel model(samples, work_of(4096), kLimits);
  for (const std::uint32_t n : {4U, 20U, 40U}) {
    EXPECT_NEAR(model.decode_seconds(test::decodes(n, 3999)) / law({double(n), 4000}, 4096), 1, 0.03) << n;
    EXPECT_NEAR(model.decode_seconds(test::decodes(n, 9999)) / law({double(n), 10000}, 4096), 1, 0.02) << n;
  }
}

TEST(TileModel, BeyondAWindowThatNoSampleWentBeyondNothingGetsFaster) {
  constexpr std::uint32_t kWindow = 8192;  // the longest context of the samples
  const AttentionModel model(decodes_of(kWindow), work_of(kWindow), kLimits);
  for (const std::uint64_t beyond : {8193, 8320, 20000, 60000}) {
    const double wanted = law(two_lengths(150, 100, 70, kWindow), kWindow);
    EXPECT_NEAR(model.decode_seconds(uneven_shape(150, 99, 70, beyond - 1)) / wanted, 1, 0.05) << beyond;
    EXPECT_NEAR(model.decode_seconds(test::decodes(64, beyond - 1)) / law({64, kWindow}, kWindow), 1, 0.01) << beyond;
  }
}

TEST(TileModel, AChunkAndDecodesAreOneLaunch) {
  std::vector<Sample> samples = decodes_of();
  for (const std::uint64_t q : {64, 128, 192, 320, 448, 640, 832, 1088, 2112})
    for (const std::uint64_t c : {0, 1024, 4096}) {
      samples.push_back(sample({1, q, c}, law({.chunks = 1, .query = double(q), .context = double(c)})));
      for (const std::uint64_t n : {4, 16, 64, 128})
        for (const std::uint64_t a : {512, 4096})
          samples.push_back(sample({1, q, c, n, a - 1}, law({.decodes = double(n),
                                                             .attended = double(a),
                                                             .chunks = 1,
                                                             .query = double(q),
                                                             .context = double(c)})));
    }
  const AttentionModel model(samples, work_of(), kLimits);
  const auto ask = [&](const BatchShape& of, std::vector<PrefillChunk> chunks) {
    BatchShape shape = of;
    shape.prefills = chunks;
    for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
    return model.at(shape, ChunkSums::of(shape)).seconds;
  };
  BatchShape some = test::decodes(40, 1999);
  some.decode_longest = 1999;
  const FlashTiles::Launch both{.decodes = 40, .attended = 2000, .chunks = 1, .query = 700, .context = 1000};
  EXPECT_NEAR(ask(some, {{700, 1000}}) / law(both), 1, 0.02);
  // Beside 1,000 tokens nothing is split: one long decode lasts beyond all others.
  FlashTiles::Launch one = two_lengths(16, 201, 1, 30001);
  one.chunks = 1, one.query = 1000;
  EXPECT_NEAR(ask(uneven_shape(16, 200, 1, 30000), {{1000, 0}}) / law(one), 1, 0.03);
  EXPECT_NEAR(ask({}, {{700, 1000}}) / law({.chunks = 1, .query = 700, .context = 1000}), 1, 0.05);
}

TEST(TileModel, TablesWithoutTwoLengthsKeepTheSmoothFit) {
  AttentionRoofline smooth = work_of();
  smooth.tiles.reset();
  const AttentionModel with(even(0), work_of(), kLimits), without(even(0), smooth, kLimits);
  for (const std::uint32_t n : {5U, 20U, 100U})
    EXPECT_EQ(with.decode_seconds(test::decodes(n, 700)), without.decode_seconds(test::decodes(n, 700)));
}

/// With their cubes, contexts are two lengths whatever the longest is.
TEST(TileModel, CubesTellWhichTwoLengthsContextsAre) {
  const AttentionModel model(decodes_of(), work_of(), kLimits);
  for (const auto& [n, few, many, most] :
       {std::array<std::uint64_t, 4>{50, 400, 3, 6000}, {100, 1000, 20, 5000}, {20, 300, 10, 3000}}) {
    BatchShape shape = told(uneven_shape(n, few, many, most), few, many, most);
    const double wanted = model.decode_seconds(uneven_shape(n, few, many, most));
    EXPECT_NEAR(model.decode_seconds(shape) / wanted, 1, 1e-9) << n;
    shape.decode_longest *= 2;
    EXPECT_NEAR(model.decode_seconds(shape) / wanted, 1, 1e-9) << n;
  }
  // Squares so far apart that a sum of cubes might pass 2^63: it says nothing.
  BatchShape vast = uneven_shape(500, 4000, 5, 1'200'000);
  const double untold = model.decode_seconds(vast);
  vast.decode_context_cubes = 12345;
  EXPECT_EQ(model.decode_seconds(vast), untold);
}

/// Sums of cubes are told modulo 2^64: where they pass it, at 766,310 tokens of forty, nothing happens. A copy
/// remembers nothing of the decodes asked before.
TEST(TileModel, CubesMayPass64Bits) {
  const AttentionModel model(decodes_of(), work_of(), kLimits);
  BatchShape shape = told(uneven_shape(40, 760000, 3, 766200), 760000, 3, 766200);
  for (int step = 0; step < 300; ++step) {
    const AttentionModel fresh = model;
    ASSERT_EQ(model.decode_seconds(shape), fresh.decode_seconds(shape)) << step;
    const double wanted = model.decode_seconds(uneven_shape(40, 760000 + step, 3, 766200 + step));
    ASSERT_NEAR(model.decode_seconds(shape) / wanted, 1, 1e-9) << step;
    shape.decode_context_cubes += 3 * shape.decode_context_squares + 3 * shape.decode_context + shape.decodes;
    shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
    shape.decode_context += shape.decodes;
    ++shape.decode_longest;
  }
}

/// Bit for bit, unequal contexts and windows included.
TEST(TileModel, ARunOfDecodesEqualsItsSteps) {
  for (const std::uint32_t window : {0U, 4096U}) {
    test::HandMadeSource source;
    source.add(key_of(window), decodes_of(window));
    StepPlan plan;
    plan.entries = {test::entry("attention", key_of(window), Binding::kAttention, 3)};
    const std::array<const SampleSource*, 1> sources{&source};
    const ProfiledOracle oracle(plan, sources, find_gpu("H200"), {}, find_platform("h200-vm"));
    for (BatchShape shape : {uneven_shape(40, 900, 3, 4000), told(uneven_shape(30, 700, 9, 3000), 700, 9, 3000),
                             uneven_shape(7, 100, 1, 150), test::decodes(20, 4000)}) {
      if (shape.decode_longest == 0) shape.decode_longest = 4000;
      std::array<double, 300> device_s{};
      LatencyOracle::DecodeRun run;
      shape.logits_rows = shape.decodes;
      ASSERT_TRUE(oracle.decode_run(shape, device_s, run));
      for (std::uint32_t i = 0; i < run.steps; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(device_s[i]),
                  std::bit_cast<std::uint64_t>(oracle.cost(shape, {0}).device.total()))
            << window << " " << i;
        if (shape.decode_context_cubes > 0)
          shape.decode_context_cubes += 3 * shape.decode_context_squares + 3 * shape.decode_context + shape.decodes;
        shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
        shape.decode_context += shape.decodes;
        ++shape.decode_longest;
      }
    }
  }
}

}  // namespace
}  // namespace dooly::oracle
