#include "oracle/fixed_oracle.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/oracle_factory.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

using test::equal_decodes;

TEST(FixedOracle, LinearInTokensAndContextAfterTheStep) {
  const FixedOracle oracle({.base = 1, .per_token = 0.5, .per_1000_context = 10});
  const std::vector<PrefillChunk> chunks{{100, 50}, {20, 0}};
  BatchShape shape = equal_decodes(3, 99);
  shape.prefills = chunks;
  shape.prefill_tokens = 120;
  // 3 + 120 tokens; context after: 3 × 100 + 150 + 20 = 470.
  EXPECT_EQ(context_after(shape), 470u);
  EXPECT_DOUBLE_EQ(oracle.cost(shape, {}).device.total(), 1 + 0.5 * 123 + 10 * 0.47);
  EXPECT_EQ(oracle.cost(shape, {}).provenance.roofline, 0);
}

TEST(FixedOracle, WholeMicrosecondsRoundTheContextTermDown) {
  // base 4000 + 12 × 123 + ⌊30 × 470 ÷ 1000⌋ = 4000 + 1476 + 14 = 5490 µs.
  const FixedOracle oracle(
      {.base = 4000e-6, .per_token = 12e-6, .per_1000_context = 30e-6, .whole_microseconds = true});
  const std::vector<PrefillChunk> chunks{{100, 50}, {20, 0}};
  BatchShape shape = equal_decodes(3, 99);
  shape.prefills = chunks;
  shape.prefill_tokens = 120;
  EXPECT_EQ(oracle.cost(shape, {}).device.total(), 5490 / 1e6);
}

TEST(FixedOracle, EmptyBatchTakesNoTime) {
  EXPECT_EQ(FixedOracle::constant(3).cost(BatchShape{}, {}).device.total(), 0);
  EXPECT_EQ(FixedOracle::constant(3).cost(equal_decodes(1, 0), {}).device.total(), 3);
}

TEST(FixedOracle, RefusesTermsThatAreNoTimes) {
  EXPECT_THROW(FixedOracle({.base = -1}), OracleError);
  EXPECT_THROW(FixedOracle({.per_token = std::numeric_limits<double>::quiet_NaN()}), OracleError);
  EXPECT_THROW(FixedOracle({.base = 0.5e-6, .whole_microseconds = true}), OracleError);
}

TEST(OracleFactory, KnowsItsKinds) {
  EXPECT_EQ(make_oracle("fixed", {})->name(), "fixed");
  const auto message = [](std::string_view kind, const OracleParameters& parameters) -> std::string {
    try {
      make_oracle(kind, parameters);
    } catch (const OracleError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("profiled", {}), "oracle 'profiled' (measured operators of a store) is not part of this build");
  EXPECT_EQ(message("magic", {}), "unknown oracle 'magic'; known: fixed, roofline");
  EXPECT_EQ(message("roofline", {}), "oracle 'roofline' needs a model");
}

}  // namespace
}  // namespace dooly::oracle
