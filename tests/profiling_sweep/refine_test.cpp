#include "profiling_sweep/refiner.hpp"

#include "held_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace dooly::profiling {
namespace {

/// Asks a refiner until it is content; the law answers.
std::vector<oracle::Sample> refined(const Operation& operation, const RefineSettings& settings,
                                    SyntheticMeasurer& device, const Operation* near = nullptr,
                                    const std::vector<oracle::Sample>* near_samples = nullptr) {
  const auto refiner = make_refiner(operation, oracle::find_gpu("H200"), settings, near, near_samples);
  std::vector<oracle::Sample> samples;
  for (int round = 0; round < 200; ++round) {
    const Round next = refiner->next(samples);
    if (next.probes.empty()) return samples;
    for (const Probe& probe : next.probes) samples.push_back(device.measure(operation.key, probe.point, probe.regime));
  }
  ADD_FAILURE() << "does not come to an end";
  return samples;
}

class Rows : public ::testing::Test {
 protected:
  std::vector<oracle::Sample> refine(const Operation& operation) { return refined(operation, settings, device); }
  RefineSettings settings;
  SyntheticMeasurer device;
};

TEST_F(Rows, AStaircaseIsFoundWithEachCapturedSizeAndAFewOfThePointsBeyond) {
  for (const Operation& operation : {linear(4096, 6144), linear(4096, 28672), linear(14336, 4096)}) {
    const auto samples = refine(operation);
    const HeldOut error = held_out(operation, samples, settings.limits);
    EXPECT_LE(samples.size(), 72u);
    const auto beyond = [](const oracle::Sample& sample) { return sample.point[0] > 512; };
    EXPECT_LE(std::count_if(samples.begin(), samples.end(), beyond), 30);
    EXPECT_LE(error.median, 0.03);
    EXPECT_LE(error.mean, 0.03);
    EXPECT_LE(error.p90, 0.08);
  }
}

TEST_F(Rows, AMemoryBoundOperatorNeedsAHandful) {
  const auto samples = refine(norm(4096));
  EXPECT_LE(samples.size(), 12u);
  EXPECT_LE(held_out(norm(4096), samples, settings.limits).p90, 0.03);
}

TEST_F(Rows, WhereAnotherKernelIsFasterItsFirstRowIsFound) {
  const auto samples = refine(embedding());
  std::set<std::uint64_t> rows;
  for (const oracle::Sample& sample : samples) rows.insert(sample.point[0]);
  EXPECT_TRUE(rows.contains(16));
  EXPECT_TRUE(rows.contains(17));
  EXPECT_LE(samples.size(), 24u);
  std::vector<oracle::SamplePoint> near;
  for (std::uint64_t row = 1; row <= 64; ++row) near.push_back({row});
  EXPECT_LE(errors_at(embedding(), samples, near).max, 0.03);  // 7.6 us at 16 rows, 1.6 at 17
}

TEST_F(Rows, ATighterTargetTakesMorePointsAndErrsLess) {
  const auto loose = refine(linear(4096, 6144));
  settings.target = 0.01;
  const auto tight = refine(linear(4096, 6144));
  EXPECT_GT(tight.size(), loose.size());
  EXPECT_LT(held_out(linear(4096, 6144), tight, settings.limits).mean,
            held_out(linear(4096, 6144), loose, settings.limits).mean);
}

TEST_F(Rows, BelowTheLargestGraphOnlyPaddedSizesAreMeasured) {
  const auto sizes =
      oracle::CudaGraphs::default_sizes(settings.limits.max_sequences, settings.limits.max_batched_tokens);
  for (const oracle::Sample& sample : refine(linear(4096, 4096))) {
    if (sample.point[0] >= sizes.back()) continue;
    EXPECT_TRUE(std::find(sizes.begin(), sizes.end(), sample.point[0]) != sizes.end()) << sample.point[0];
  }
}

TEST_F(Rows, SomeAreMeasuredInBothRegimesAtTheSameRows) {
  settings.both_regimes = true;
  std::map<std::uint64_t, int> cool;
  std::vector<std::uint64_t> hot;
  for (const oracle::Sample& sample : refine(linear(4096, 4096))) {
    if (sample.regime == oracle::ClockRegime::kSustained) {
      hot.push_back(sample.point[0]);
    } else {
      EXPECT_EQ(sample.regime, oracle::ClockRegime::kCool);
      ++cool[sample.point[0]];
    }
  }
  for (const std::uint64_t rows : hot) EXPECT_EQ(cool[rows], 1) << rows;
  const auto decodes = [](std::uint64_t rows) { return rows < 256; };  // reading bounds these on an H200
  EXPECT_EQ(std::count_if(hot.begin(), hot.end(), decodes), 2) << "8 and 64, the sizes of decode steps";
  EXPECT_GE(std::count_if(hot.begin(), hot.end(), std::not_fn(decodes)), 3);
  std::set<std::uint64_t> norms;
  for (const oracle::Sample& sample : refine(norm(4096)))
    if (sample.regime == oracle::ClockRegime::kSustained) norms.insert(sample.point[0]);
  EXPECT_GE(norms.size(), 2u);
  EXPECT_LE(norms.size(), 4u);
  EXPECT_LE(*norms.begin(), 256u) << "as large as a decode step";
}

TEST_F(Rows, EachRoutingOfExpertsGetsItsCurve) {
  const auto samples = refine(experts());
  std::map<std::uint64_t, int> count;
  for (const oracle::Sample& sample : samples) ++count[sample.point[2]];
  EXPECT_GE(count[0], 8);
  EXPECT_GE(count[1], 4);
  EXPECT_GE(count[2], 4);
  EXPECT_LE(held_out(experts(), samples, settings.limits).p90, 0.08);
}

TEST_F(Rows, ANearSignatureSavesPoints) {
  const auto first = refine(norm(4096));
  const Operation near = norm(4096);
  const auto cold = refined(norm(7168), settings, device);
  const auto warm = refined(norm(7168), settings, device, &near, &first);
  EXPECT_LE(warm.size(), cold.size());
  EXPECT_LE(held_out(norm(7168), warm, settings.limits).p90, 0.03);
}

TEST_F(Rows, ASweepThatWasCutShortGoesOnToBothEnds) {
  const auto first = refine(linear(4096, 6144));
  const Operation near = linear(4096, 6144), operation = linear(5120, 10240);
  const auto refiner = make_refiner(operation, oracle::find_gpu("H200"), settings, &near, &first);
  std::vector<oracle::Sample> samples;
  for (int round = 0; round < 200; ++round) {
    const Round next = refiner->next(samples);
    if (next.probes.empty()) break;
    const std::size_t measured = round == 0 ? 5 : next.probes.size();  // the budget ends in the first round
    for (std::size_t i = 0; i < measured; ++i)
      samples.push_back(device.measure(operation.key, next.probes[i].point, next.probes[i].regime));
  }
  std::set<std::uint64_t> rows;
  for (const oracle::Sample& sample : samples) rows.insert(sample.point[0]);
  EXPECT_EQ(*rows.begin(), 1u);
  EXPECT_EQ(*rows.rbegin(), settings.limits.max_batched_tokens);
}

TEST_F(Rows, SizesThatRanOutOfMemoryAreNotAskedForAgain) {
  const auto refiner = make_refiner(linear(4096, 4096), oracle::find_gpu("H200"), settings);
  std::vector<oracle::Sample> samples;
  for (int round = 0; round < 200; ++round) {
    const Round next = refiner->next(samples);
    for (const Probe& probe : next.probes) {
      for (const oracle::Sample& old : samples) EXPECT_NE(old.point, probe.point);
      oracle::Sample sample = device.measure(linear(4096, 4096).key, probe.point, probe.regime);
      if (probe.point[0] > 3000) {
        sample = {};
        sample.point = probe.point;
        sample.status = oracle::SampleStatus::kOutOfMemory;
      }
      samples.push_back(sample);
    }
    if (next.probes.empty()) break;
  }
  EXPECT_LE(std::count_if(samples.begin(), samples.end(), [](const auto& s) { return s.point[0] > 3000; }), 4);
  EXPECT_GT(samples.size(), 12u);
}

TEST_F(Rows, AnOperatorThatNeverRunsIsGivenUp) {
  const auto refiner = make_refiner(linear(4096, 4096), oracle::find_gpu("H200"), settings);
  std::vector<oracle::Sample> samples;
  for (const std::uint64_t rows : {64u, 16u, 1u}) {
    samples.emplace_back().point = {rows};
    samples.back().status = oracle::SampleStatus::kUnsupported;
  }
  EXPECT_TRUE(refiner->next(samples).probes.empty());
}

class AttentionRefinement : public Rows {};

TEST_F(AttentionRefinement, ReachesItsErrorWithFewerThanFiveHundredPoints) {
  const auto samples = refine(attention());
  EXPECT_LE(samples.size(), 500u);
  const HeldOut error = held_out(attention(), samples, settings.limits);
  EXPECT_LE(error.median, 0.04);
  EXPECT_LE(error.mean, 0.06);
  EXPECT_LE(error.by_time, 0.05);
}

TEST_F(AttentionRefinement, MixedBatchesOnlyWhereChunksAndDecodesMeet) {
  const auto is_mixed = [](const oracle::Sample& s) { return s.point[0] > 0 && s.point[3] > 0; };
  const auto fa3 = refine(attention()), other = refine(attention(0, "another"));
  EXPECT_GE(std::count_if(fa3.begin(), fa3.end(), is_mixed), 8);
  EXPECT_EQ(std::count_if(other.begin(), other.end(), is_mixed), 0);
}

/// Where it is known how a kernel's tiles are dealt, every part tells about the others.
TEST_F(AttentionRefinement, ASweepOfDealtTilesThatIsCutShortHasSomeOfEachPart) {
  for (const char* family : {"fa2", "triton", "flashinfer"}) {
    const Operation operation = attention(0, family);
    const Round first = make_refiner(operation, oracle::find_gpu("H200"), settings)->next({});
    int decodes = 0, lengths = 0, prompts = 0, mixed = 0;
    ASSERT_GE(first.probes.size(), 150u) << family;
    for (std::size_t i = 0; i < 60; ++i) {
      const oracle::SamplePoint& p = first.probes[i].point;
      if (p[0] > 0)
        ++(p[3] > 0 ? mixed : prompts);
      else
        ++(p[5] > 0 ? lengths : decodes);
    }
    for (const int count : {decodes, lengths, prompts, mixed}) EXPECT_GE(count, 6) << family;
    // 132 multiprocessors have room for 33 decodes of 8 heads twice, for 66 four times.
    for (const std::uint64_t count : {33, 34, 66, 67})
      EXPECT_TRUE(std::any_of(
          first.probes.begin(), first.probes.end(),
          [&](const Probe& probe) { return probe.point[0] == 0 && probe.point[5] == 0 && probe.point[3] == count; }))
          << family << " " << count;
  }
}

TEST_F(AttentionRefinement, OfDealtTilesEndsToo) {
  const auto samples = refine(attention(0, "triton"));
  EXPECT_LE(samples.size(), 700u);
}

/// 132 multiprocessors: 16 sequences of 8 KV heads fill them once, 17 need a wave more, and so on.
TEST_F(AttentionRefinement, DecodesAreMeasuredOnBothSidesOfAWave) {
  std::map<std::uint64_t, int> by_count;
  int inside_of_blocks = 0;
  for (const oracle::Sample& s : refine(attention())) {
    if (s.point[0] > 0 || s.point[5] > 0) continue;
    ++by_count[s.point[3]];
    inside_of_blocks += s.point[4] > 128 && (s.point[4] + 1) % 64 != 0 ? 1 : 0;
  }
  for (const std::uint64_t count : {5, 7, 16, 17, 33, 34, 49, 50}) EXPECT_GE(by_count[count], 2) << count;
  EXPECT_GE(inside_of_blocks, 12);
}

TEST_F(AttentionRefinement, MixedBatchesHaveSeveralChunksAndTwoLengthsToo) {
  int chunks = 0, lengths = 0;
  for (const oracle::Sample& s : refine(attention())) {
    chunks += s.point[0] > 1 && s.point[3] > 0 ? 1 : 0;
    lengths += s.point[0] > 0 && s.point[5] > 0 ? 1 : 0;
  }
  EXPECT_EQ(chunks, 8);
  EXPECT_EQ(lengths, 8);
}

TEST_F(AttentionRefinement, BeyondAWindowSeveralNumbersAreMeasured) {
  std::map<std::uint64_t, int> beyond;
  for (const oracle::Sample& s : refine(attention(4096)))
    if (s.point[0] == 0 && s.point[5] == 0 && s.point[4] >= 4096) ++beyond[s.point[3]];
  EXPECT_GE(beyond.size(), 12u);
}

TEST_F(AttentionRefinement, RaggedBatchesHaveTwoLengths) {
  const auto samples = refine(attention());
  const auto is_ragged = [](const oracle::Sample& s) {
    return s.point[5] > 0 && s.point[5] < s.point[3] && s.point[4] != s.point[6];
  };
  EXPECT_GE(std::count_if(samples.begin(), samples.end(), is_ragged), 4);
}

TEST_F(AttentionRefinement, SomeOfEachKindAreMeasuredAtTheSustainedClockToo) {
  const auto in = [](const std::vector<oracle::Sample>& samples, bool prefill) {
    return std::count_if(samples.begin(), samples.end(), [&](const oracle::Sample& s) {
      return s.regime == oracle::ClockRegime::kSustained && (s.point[0] > 0) == prefill;
    });
  };
  settings.both_regimes = true;
  const auto both = refine(attention());
  EXPECT_GE(in(both, true), 6);
  EXPECT_LE(in(both, true), 9);
  const auto behind_context = [](const oracle::Sample& s) {
    return s.regime == oracle::ClockRegime::kSustained && s.point[0] > 0 && s.point[2] >= 4096;
  };
  EXPECT_GE(std::count_if(both.begin(), both.end(), behind_context), 3);
  EXPECT_GE(in(both, false), 8);
  EXPECT_LE(in(both, false), 10);
  settings.both_regimes = false;
  const auto one = refine(attention());
  EXPECT_EQ(in(one, true) + in(one, false), 0);
}

TEST_F(AttentionRefinement, AWindowEndsTheContexts) {
  const std::uint64_t window = 1024;
  for (const oracle::Sample& sample : refine(attention(window))) {
    EXPECT_LE(sample.point[2], 2 * window);
    if (sample.point[5] == 0) {
      EXPECT_LE(sample.point[4], 4 * window);
    }
  }
}

TEST_F(AttentionRefinement, KeepsWithinTheLimits) {
  settings.limits = {.max_batched_tokens = 1024, .max_sequences = 32, .max_context = 2048, .max_kv_tokens = 16384};
  for (const oracle::Sample& sample : refine(attention())) {
    const auto& p = sample.point;
    EXPECT_LE(p[0] * p[1] + p[3], 1024u);
    EXPECT_LE(p[3], 32u);
    EXPECT_LE(p[1] + p[2], 2048u);
    EXPECT_LT(p[4], 2048u);
    const std::uint64_t many = std::min(p[5], p[3]);
    EXPECT_LE(p[0] * (p[1] + p[2]) + (p[3] - many) * (p[4] + 1) + many * (p[6] + 1), 16384u);
  }
}

}  // namespace
}  // namespace dooly::profiling
