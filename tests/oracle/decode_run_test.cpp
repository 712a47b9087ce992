#include "oracle/fixed_oracle.hpp"
#include "oracle/gpu.hpp"
#include "oracle/model_table.hpp"
#include "oracle/roofline_oracle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>

namespace dooly::oracle {
namespace {

/// A run's costs are those of its steps, bit for bit.
void expect_equals_steps(const LatencyOracle& oracle, std::uint32_t decodes, std::uint64_t context) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = decodes;
  shape.decode_context = context;
  shape.decode_context_squares = context * context / decodes;
  std::array<double, 300> device_s{};
  LatencyOracle::DecodeRun run;
  ASSERT_TRUE(oracle.decode_run(shape, device_s, run));
  for (const double seconds : device_s) {
    const StepCost step = oracle.cost(shape, {});
    ASSERT_EQ(std::bit_cast<std::uint64_t>(seconds), std::bit_cast<std::uint64_t>(step.device.total()));
    EXPECT_EQ(run.host.schedule, step.host.schedule);
    EXPECT_EQ(run.host.launch, step.host.launch);
    EXPECT_EQ(run.host.launch_lead, step.host.launch_lead);
    EXPECT_EQ(run.host.sample, step.host.sample);
    EXPECT_EQ(run.host.update, step.host.update);
    EXPECT_EQ(run.host.delivery, step.host.delivery);
    EXPECT_EQ(run.share.roofline * step.device.total(), step.provenance.roofline);
    EXPECT_EQ(run.share.measured, 0);
    shape.decode_context += decodes;
    shape.decode_context_squares += 2 * (shape.decode_context - decodes) + decodes;
  }
}

TEST(DecodeRun, OfTheRooflineEqualsItsSteps) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  RooflineSettings settings;
  settings.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
  for (const std::uint32_t ranks : {1U, 4U}) {
    settings.execution.tensor_parallel = ranks;
    const RooflineOracle oracle(model, find_gpu("H200-SXM"), settings, find_platform("h200-vm"));
    for (const std::uint32_t decodes : {1U, 3U, 64U, 257U, 1000U})
      expect_equals_steps(oracle, decodes, decodes * 1234ULL + 7);
  }
}

TEST(DecodeRun, OfTheFixedOracleEqualsItsSteps) {
  const FixedOracle oracle({.base = 0.005, .per_token = 1.1e-5, .per_1000_context = 3.3e-5});
  expect_equals_steps(oracle, 17, 54321);
  const FixedOracle whole({.base = 0.005, .per_token = 20e-6, .per_1000_context = 20e-6, .whole_microseconds = true});
  expect_equals_steps(whole, 5, 4321);
}

TEST(DecodeRun, OfAWindowedModelIsLeftToSteps) {
  const ModelConfig model = find_model("CohereForAI/c4ai-command-r7b-12-2024");
  const RooflineOracle oracle(model, find_gpu("H200-SXM"), {}, {});
  BatchShape shape;
  shape.decodes = shape.logits_rows = 4;
  shape.decode_context = 4000;
  std::array<double, 8> device_s{};
  LatencyOracle::DecodeRun run;
  EXPECT_FALSE(oracle.decode_run(shape, device_s, run));
}

}  // namespace
}  // namespace dooly::oracle
