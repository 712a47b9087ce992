// What every oracle owes to the simulator, for each kind that is built and for models whose attention differs.
#include "oracle/latency_oracle.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/oracle_factory.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

using test::equal_decodes;

struct Subject {
  std::string kind;
  std::string model;
};

class EveryOracle : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    model_ = find_model(GetParam().model);
    OracleParameters parameters;
    parameters.model = &model_;
    parameters.gpu = &find_gpu("H200");
    parameters.roofline.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
    parameters.platform = find_platform("h200-vm");
    parameters.fixed = {.base = 5e-3, .per_token = 1e-5, .per_1000_context = 3e-5};
    oracle_ = make_oracle(GetParam().kind, parameters);
  }
  double device(const BatchShape& shape) const { return oracle_->cost(shape, {}).device.total(); }

  ModelConfig model_;
  std::unique_ptr<LatencyOracle> oracle_;
};

struct RandomBatch {
  std::vector<PrefillChunk> chunks;
  BatchShape shape;
};

RandomBatch random_batch(std::mt19937& random) {
  RandomBatch batch;
  batch.shape.decodes = random() % 300;
  for (std::uint32_t i = 0; i < batch.shape.decodes; ++i) {
    const std::uint64_t context = random() % 20000;
    batch.shape.decode_context += context;
    batch.shape.decode_context_squares += context * context;
  }
  for (std::uint32_t i = random() % 5; i > 0; --i) {
    batch.chunks.push_back(
        {1 + static_cast<std::uint32_t>(random() % 2000), static_cast<std::uint32_t>(random() % 9000)});
    batch.shape.prefill_tokens += batch.chunks.back().query;
  }
  batch.shape.prefills = batch.chunks;
  batch.shape.logits_rows = batch.shape.requests();
  return batch;
}

TEST_P(EveryOracle, AnswersTheSameEveryTimeAndNothingNegative) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const RandomBatch batch = random_batch(random);
    const StepCost a = oracle_->cost(batch.shape, {});
    const StepCost b = oracle_->cost(batch.shape, {});
    EXPECT_EQ(a.device.total(), b.device.total());
    EXPECT_GE(a.device.token_ops, 0);
    EXPECT_GE(a.device.attention, 0);
    EXPECT_LE(a.host.launch_lead, a.host.launch);
  }
}

TEST_P(EveryOracle, EmptyBatchTakesNoDeviceTime) {
  const StepCost cost = oracle_->cost(BatchShape{}, {});
  EXPECT_EQ(cost.device.total(), 0);
  EXPECT_EQ(cost.host.launch, 0);
}

TEST_P(EveryOracle, MoreDecodesNeverTakeLess) {
  double last = 0;
  for (std::uint32_t n = 1; n < 1200; ++n) {
    const double now = device(equal_decodes(n, 700));
    EXPECT_GE(now, last) << n;
    last = now;
  }
}

TEST_P(EveryOracle, LongerContextsNeverTakeLess) {
  double last = 0;
  for (std::uint64_t context = 0; context < 20000; context += 37) {
    const double now = device(equal_decodes(16, context));
    EXPECT_GE(now, last * (1 - 1e-12)) << context;
    last = now;
  }
}

TEST_P(EveryOracle, LongerPromptsNeverTakeLess) {
  double last = 0;
  std::vector<PrefillChunk> chunks{{1, 100}};
  BatchShape shape;
  shape.prefills = chunks;
  shape.logits_rows = 1;
  for (std::uint32_t query = 1; query <= 9000; query += 13) {
    chunks[0].query = shape.prefill_tokens = query;
    const double now = device(shape);
    EXPECT_GE(now, last) << query;
    last = now;
  }
}

TEST_P(EveryOracle, RequestCostGrowsWithThePrompt) {
  EXPECT_GT(oracle_->request_cost(2000).hashing, oracle_->request_cost(1000).hashing);
  EXPECT_GT(oracle_->request_cost(2000).input, oracle_->request_cost(0).input);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryOracle,
                         testing::Values(Subject{"fixed", "meta-llama/Llama-3.1-8B"},
                                         Subject{"roofline", "meta-llama/Llama-3.1-8B"},
                                         Subject{"roofline", "CohereForAI/c4ai-command-r7b-12-2024"},
                                         Subject{"roofline", "Qwen/Qwen3-30B-A3B"},
                                         Subject{"roofline", "deepseek-ai/DeepSeek-V2-Lite"}));

class BrokenOracle : public LatencyOracle {
 public:
  explicit BrokenOracle(double time) : time_(time) {}
  std::string_view name() const override { return "broken"; }
  RequestCost request_cost(std::uint32_t) const override { return {}; }

 private:
  void do_cost(const BatchShape&, DeviceState, StepCost& answer) const override { answer.device.attention = time_; }
  double time_;
};

TEST(LatencyOracle, RejectsAnswersThatAreNoTimes) {
  EXPECT_THROW(BrokenOracle(-1).cost(equal_decodes(1, 1), {}), OracleError);
  EXPECT_THROW(BrokenOracle(std::numeric_limits<double>::quiet_NaN()).cost(equal_decodes(1, 1), {}), OracleError);
  EXPECT_THROW(BrokenOracle(std::numeric_limits<double>::infinity()).cost(equal_decodes(1, 1), {}), OracleError);
  try {
    BrokenOracle(-1).cost(equal_decodes(1, 1), {});
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("attention -1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dooly::oracle
