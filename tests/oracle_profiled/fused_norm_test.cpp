#include "oracle_profiled/fused_norm.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/compiled_plan.hpp"

#include <gtest/gtest.h>

#include <array>

namespace dooly::oracle {
namespace {

using test::sample;

/// One second a row.
RowWork by_rows() {
  RowWork work;
  work.memory_per_row = 1;
  return work;
}

TEST(FusedNorm, StartsAsTheNormAndMovesFourRowsOfFive) {
  const WorkCurve norm({{1, 2.0}, {10, 4.0}}, by_rows()), addition({{1, 1.0}, {10, 4.0}}, by_rows());
  const WorkCurve fused = fused_norm(norm, addition, by_rows());
  EXPECT_DOUBLE_EQ(fused.at(1).seconds, 2.0);
  EXPECT_DOUBLE_EQ(fused.at(10).seconds, 2.0 + 0.8 * (2.0 + 3.0));
  EXPECT_EQ(fused.at(10).origin, Origin::kInterpolated);
  EXPECT_DOUBLE_EQ(fused.at(10).error, kFusedNormError);
}

TEST(FusedNorm, HasTheRowsOfBothWhereTheyMeet) {
  const WorkCurve norm({{1, 1.0}, {4, 4.0}, {16, 16.0}}, by_rows()), addition({{2, 2.0}, {8, 8.0}}, by_rows());
  const WorkCurve fused = fused_norm(norm, addition, by_rows());
  ASSERT_EQ(fused.points().size(), 3u);
  EXPECT_DOUBLE_EQ(fused.points()[0].x, 2);
  EXPECT_DOUBLE_EQ(fused.points()[1].x, 4);
  EXPECT_DOUBLE_EQ(fused.points()[2].x, 8);
  EXPECT_TRUE(
      fused_norm(WorkCurve({{1, 1.0}, {2, 1.0}}, by_rows()), WorkCurve({{4, 1.0}}, by_rows()), by_rows()).empty());
}

class NormOfAPlan : public testing::Test {
 protected:
  static CompiledPlan plan_of(const SampleSource& source) {
    StepPlan plan;
    plan.entries.push_back(test::entry("norm", rms_norm_key("float16", 100, true), Binding::kTokens, 3));
    plan.entries.back().bytes_per_token = 800;
    const std::array<const SampleSource*, 1> sources{&source};
    CompileSettings settings;
    settings.efficiency = test::ideal();
    settings.max_num_batched_tokens = settings.max_num_seqs = 8;
    return CompiledPlan(plan, sources, test::slow_gpu(), settings);
  }
  test::HandMadeSource source_;
};

TEST_F(NormOfAPlan, IsPutTogetherFromANormAndAnAdditionByName) {
  source_.add(rms_norm_key("float16", 100, false), {sample({1}, 2e-6), sample({8}, 5e-6)});
  source_.add(elementwise_key("add", "float16", 100), {sample({1}, 1e-6), sample({8}, 3e-6)});
  const CompiledPlan plan = plan_of(source_);
  const OperatorAnswer& answer = plan.operators().front();
  EXPECT_EQ(answer.source, 0);
  EXPECT_EQ(answer.best, Origin::kInterpolated);
  EXPECT_EQ(answer.note, "from a norm and an addition, measured apart");
  StepCost cost;
  plan.cost(test::decodes(8, 1), {}, cost);
  EXPECT_NEAR(cost.device.token_ops, 3 * (2e-6 + 0.8 * (3e-6 + 2e-6)), 1e-12);
  EXPECT_NEAR(cost.provenance.interpolated, cost.device.token_ops, 1e-15);
}

TEST_F(NormOfAPlan, IsItsOwnWhereThatWasMeasured) {
  source_.add(rms_norm_key("float16", 100, false), {sample({1}, 2e-6), sample({8}, 5e-6)});
  source_.add(elementwise_key("add", "float16", 100), {sample({1}, 1e-6), sample({8}, 3e-6)});
  source_.add(rms_norm_key("float16", 100, true), {sample({1}, 4e-6), sample({8}, 4e-6)});
  const CompiledPlan plan = plan_of(source_);
  EXPECT_EQ(plan.operators().front().best, Origin::kMeasured);
  EXPECT_TRUE(plan.operators().front().note.empty());
}

TEST_F(NormOfAPlan, IsNotMadeOfANormAlone) {
  source_.add(rms_norm_key("float16", 100, false), {sample({1}, 2e-6), sample({8}, 5e-6)});
  source_.add(elementwise_key("add", "float16", 100, 3), {sample({1}, 1e-6), sample({8}, 3e-6)});
  EXPECT_EQ(plan_of(source_).operators().front().source, -1);
}

}  // namespace
}  // namespace dooly::oracle
