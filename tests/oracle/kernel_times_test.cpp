#include "oracle/kernel_times.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/roofline_oracle.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <array>
#include <set>
#include <vector>

namespace dooly::oracle {
namespace {

TEST(TimeCurve, IsLinearBetweenKnotsConstantBelowAndProportionalAbove) {
  const TimeCurve curve({{1e-6, 4e-6}, {5e-6, 8e-6}, {10e-6, 20e-6}});
  EXPECT_DOUBLE_EQ(curve.at(0), 4e-6);
  EXPECT_DOUBLE_EQ(curve.at(1e-6), 4e-6);
  EXPECT_DOUBLE_EQ(curve.at(3e-6), 6e-6);
  EXPECT_DOUBLE_EQ(curve.at(5e-6), 8e-6);
  EXPECT_DOUBLE_EQ(curve.at(10e-6), 20e-6);
  EXPECT_DOUBLE_EQ(curve.at(40e-6), 80e-6);
  EXPECT_DOUBLE_EQ(curve.least(), 4e-6);
}

TEST(TimeCurve, RefusesKnotsThatFall) {
  EXPECT_THROW(TimeCurve(std::vector<TimeCurve::Knot>{}), OracleError);
  EXPECT_THROW(TimeCurve({{1, 2}, {2, 1}}), OracleError);
  EXPECT_THROW(TimeCurve({{1, 2}, {1, 3}}), OracleError);
}

TEST(KernelTimes, FlatSharesByHand) {
  Efficiency e;
  e.memory = 0.5, e.matrix = 0.25, e.attention = 0.2, e.kernel_seconds = 1e-3;
  const KernelTimes times = KernelTimes::flat(e);
  EXPECT_DOUBLE_EQ(times.seconds(KernelKind::kLinear, 1e-3, 1e-3), 5e-3);     // 1 ms ÷ 0.25 + 1 kernel
  EXPECT_DOUBLE_EQ(times.seconds(KernelKind::kLinear, 0, 1e-3), 3e-3);        // 1 ms ÷ 0.5
  EXPECT_DOUBLE_EQ(times.seconds(KernelKind::kPrefill, 1e-3, 1e-3), 6e-3);    // 1 ms ÷ 0.2
  EXPECT_DOUBLE_EQ(times.seconds(KernelKind::kExperts8, 0, 1e-3), 6e-3);      // 4 kernels
}

TEST(KernelTimes, EachShippedCurveIsBetterThanTheFlatSharesAndBelowThePeak) {
  std::set<KernelKind> pooled;
  for (const FittedCurve& each : fitted_curves()) {
    const std::string what = std::string(kernel_kind_name(each.kind)) + " " + std::string(each.gpu);
    ASSERT_GE(each.curve.knots().size(), 4u) << what;
    // Long operators are what data sheets speak of, which one measured device passes by 17 %; short ones may find their
    // data in a cache.
    for (const TimeCurve::Knot& knot : each.curve.knots())
      if (knot.ideal > 300e-6) {
        EXPECT_GE(knot.seconds, 0.85 * knot.ideal) << what << " " << knot.ideal;
      }
    if (each.gpu.empty()) {
      pooled.insert(each.kind);
      continue;
    }
    ASSERT_TRUE(each.error && each.error_before) << what;
    EXPECT_LT(*each.error, *each.error_before) << what;
  }
  EXPECT_EQ(pooled.size(), kKernelKinds);
}

TEST(KernelTimes, GpusWithDataHaveTheirOwnCurvesOthersThePooledOnes) {
  const auto knots = [](std::string_view gpu, KernelKind kind) {
    std::vector<double> seconds;
    const KernelTimes times = KernelTimes::fitted(find_gpu(gpu));
    for (const TimeCurve::Knot& knot : times.curve(kind).knots()) seconds.push_back(knot.seconds);
    return seconds;
  };
  EXPECT_NE(knots("H200", KernelKind::kLinear), knots("H100", KernelKind::kLinear));
  EXPECT_EQ(knots("B200", KernelKind::kLinear), knots("MI300X", KernelKind::kLinear));
  EXPECT_EQ(knots("A100", KernelKind::kExperts), knots("B200", KernelKind::kExperts)) << "no experts measured there";
  const KernelTimes processor = KernelTimes::fitted(find_gpu("CPU"));
  EXPECT_DOUBLE_EQ(processor.seconds(KernelKind::kLinear, 0, 0.8), 1 + 2e-6) << "no curve of GPUs for a processor";
}

TEST(KernelTimes, ExpertsReadBeforeTheyComputeOthersMeanwhile) {
  const KernelTimes times = KernelTimes::fitted(find_gpu("H200"));
  EXPECT_DOUBLE_EQ(times.ideal(KernelKind::kExperts, 1e-4, 3e-4), 4e-4);
  EXPECT_DOUBLE_EQ(times.ideal(KernelKind::kLinear, 1e-4, 3e-4), 3e-4);
}

class FittedRoofline : public testing::TestWithParam<const char*> {
 protected:
  RooflineOracle oracle_{find_model("Qwen/Qwen3-8B"), find_gpu(GetParam()), {}, {}};

  double seconds(std::uint32_t decodes, std::uint64_t context, std::uint32_t query, std::uint32_t cached) const {
    BatchShape shape = test::equal_decodes(decodes, context);
    const std::array chunk{PrefillChunk{query, cached}};
    if (query > 0) {
      shape.prefills = chunk;
      shape.prefill_tokens = query;
    }
    return oracle_.cost(shape, {}).device.total();
  }
};

TEST_P(FittedRoofline, GrowsWithSequencesContextsAndChunks) {
  double last = 0;
  for (std::uint32_t n = 1; n <= 1024; n += n < 16 ? 1 : n / 8) {
    const double now = seconds(n, 1000, 0, 0);
    EXPECT_GE(now, last) << n;
    last = now;
  }
  last = 0;
  for (std::uint64_t context = 1; context < 100'000; context += 1 + context / 10) {
    const double now = seconds(32, context, 0, 0);
    EXPECT_GE(now, last) << context;
    last = now;
  }
  for (const std::uint32_t decodes : {0u, 1u, 64u}) {
    last = decodes > 0 ? seconds(decodes, 1000, 0, 0) : 0;
    for (std::uint32_t query = 1; query <= 8192; query += 1 + query / 16) {
      const double now = seconds(decodes, 1000, query, 500);
      EXPECT_GE(now, last) << query << " beside " << decodes;
      last = now;
    }
  }
}

TEST_P(FittedRoofline, ADecodeRunIsItsSteps) {
  BatchShape first = test::equal_decodes(48, 900);
  std::vector<double> steps(300);
  LatencyOracle::DecodeRun run;
  ASSERT_TRUE(oracle_.decode_run(first, steps, run));
  for (const double step : steps) {
    EXPECT_EQ(step, oracle_.cost(first, {}).device.total());
    first.decode_context_squares += 2 * first.decode_context + 48;
    first.decode_context += 48;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, FittedRoofline, testing::Values("H200", "A100", "L40S", "B200", "RTX-4090", "CPU"));

}  // namespace
}  // namespace dooly::oracle
