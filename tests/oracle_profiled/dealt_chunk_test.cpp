// Short chunks of kernels whose tiles are dealt out.
#include "hand_made.hpp"
#include "oracle/model_table.hpp"
#include "oracle_profiled/compiled_plan.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace dooly::oracle {
namespace {

/// Llama-3.1-8B on the shipped samples of a back end. There a decode runs in another kernel than a chunk, which is the
/// slower one where contexts are short.
class DealtChunk : public testing::TestWithParam<const char*> {
 protected:
  DealtChunk() {
    PlanSettings asked;
    asked.backend = GetParam();
    const StepPlan plan = make_plan(find_model("meta-llama/Llama-3.1-8B"), asked);
    entry_ = *std::find_if(plan.entries.begin(), plan.entries.end(),
                           [](const PlanEntry& entry) { return entry.binding == Binding::kAttention; });
    const std::array<const SampleSource*, 1> sources{source_.get()};
    plan_ = std::make_unique<CompiledPlan>(plan, sources, find_gpu("H200"), CompileSettings());
  }

  /// Of one layer, a chunk alone.
  double attention_s(std::uint32_t query) const {
    BatchShape shape;
    const std::array chunk{PrefillChunk{query, 0}};
    shape.prefills = chunk;
    shape.prefill_tokens = query;
    StepCost cost;
    plan_->cost(shape, {}, cost);
    return cost.device.attention / entry_.count;
  }

  double measured_s(const SamplePoint& point) const {
    for (const Sample& sample : source_->samples(signature_of(entry_.key)))
      if (sample.point == point && sample.regime == ClockRegime::kCool) return sample.median_s;
    ADD_FAILURE() << "nobody measured that";
    return 0;
  }

  std::unique_ptr<SampleSource> source_ = store::open_sample_source(
      {dooly::test::source_path("stores") / ("h200-" + std::string(GetParam()) + ".jsonl.zst")});
  PlanEntry entry_;
  std::unique_ptr<CompiledPlan> plan_;
};

TEST_P(DealtChunk, IsWhatWasMeasuredThoughItsFirstTokenAloneTakesLonger) {
  const double measured = measured_s({1, 16, 0});
  EXPECT_GT(attention_s(1), 1.3 * measured);
  EXPECT_NEAR(attention_s(16) / measured, 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Kernels, DealtChunk, testing::Values("triton", "flashinfer"));

}  // namespace
}  // namespace dooly::oracle
