#include "profiling_sweep/reuse.hpp"

#include "held_out.hpp"

#include "oracle/model_table.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

Demand demand_of(const char* model, const char* backend, std::uint32_t tp) {
  oracle::PlanSettings settings;
  settings.backend = backend;
  settings.tensor_parallel = tp;
  return {model, backend, tp, make_plan(oracle::find_model(model), settings).entries};
}

TEST(ReuseTable, CountsASignatureOnceForTheFirstThatNeedsIt) {
  const std::vector<Demand> demands{{"a", "fa3", 1, {linear(4096, 4096), norm(4096), norm(4096)}},
                                    {"b", "fa3", 1, {norm(4096), attention()}},
                                    {"c", "fa3", 1, {norm(8192), attention()}}};
  const ReuseTable table = reuse_table(demands, {norm(8192).signature});
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0].signatures, 2u);
  EXPECT_EQ(table.rows[0].fresh, 2u);
  EXPECT_EQ(table.rows[1].shared, 1u);
  EXPECT_EQ(table.rows[1].fresh, 1u);
  EXPECT_EQ(table.rows[2].measured, 1u);
  EXPECT_EQ(table.rows[2].shared, 1u);
  EXPECT_EQ(table.signatures, 6u);
  EXPECT_EQ(table.unique, 4u);
  EXPECT_EQ(table.measured, 1u);
  EXPECT_EQ(table.missing.size(), 3u);
  EXPECT_NEAR(table.reused(), 1.0 / 3, 1e-12);
}

TEST(ReuseTable, OfTwoModelsOfOneWidthIsMoreThanHalf) {
  const Demand llama = demand_of("meta-llama/Llama-3.1-8B", "fa3", 1);
  const Demand other = demand_of("meta-llama/Llama-3.1-8B", "flashinfer", 1);
  const ReuseTable table = reuse_table({llama, other}, {});
  EXPECT_EQ(table.rows[1].fresh, 1u);  // the attention
  EXPECT_EQ(table.rows[1].shared, table.rows[0].signatures - 1);
}

TEST(ReuseTable, LeavesCollectivesOut) {
  for (const Operation& operation : reuse_table({demand_of("meta-llama/Llama-3.1-8B", "fa3", 2)}, {}).missing)
    EXPECT_NE(operation.binding, oracle::Binding::kCollective);
}

}  // namespace
}  // namespace dooly::profiling
