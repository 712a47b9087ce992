// Who gets how many tokens, and long runs whose outcome is known.
#include "solo.hpp"

#include "random_scenario.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::test {
namespace {

using Given = std::vector<std::pair<replica::RequestTag, std::uint32_t>>;

replica::EngineConfig small_budget() {
  replica::EngineConfig config = plain_config(100);
  config.max_num_batched_tokens = config.max_num_seqs = 8;
  return config;
}

TEST(TokenBudget, IsFilledWithAPartOfTheNextPrompt) {
  Solo solo(small_budget(), linear_ms(10, 1));
  solo.write_down_steps();
  solo.at(0, 1, 4, 1);
  solo.at(0, 2, 8, 1);
  solo.run();
  EXPECT_EQ(solo.steps()[0].given, (Given{{1, 4}, {2, 4}}));
  EXPECT_EQ(solo.steps()[1].given, (Given{{2, 4}}));
}

TEST(TokenBudget, GoesInOrderOfArrival) {
  Solo solo(small_budget(), linear_ms(10, 1));
  solo.write_down_steps();
  solo.at(0, 1, 4, 1);
  solo.at(0, 2, 4, 1);
  solo.at(0, 3, 8, 1);
  solo.run();
  EXPECT_EQ(solo.steps()[0].given, (Given{{1, 4}, {2, 4}}));
  EXPECT_EQ(solo.steps()[1].given, (Given{{3, 8}}));
}

TEST(TokenBudget, ServesDecodesFirst) {
  Solo solo(small_budget(), linear_ms(10, 1));
  solo.write_down_steps();
  solo.at(0, 1, 1, 9);
  solo.at(0.001, 2, 4, 1);
  solo.at(0.001, 3, 8, 1);
  solo.run();
  EXPECT_EQ(solo.steps()[1].given, (Given{{1, 1}, {2, 4}, {3, 3}}));
  EXPECT_EQ(solo.steps()[2].given, (Given{{1, 1}, {3, 5}}));
}

// Eight decodes and a prompt of 4,000 under a budget of 512 = 8 + 504: seven full chunks and one of 472. At 1 ms a
// token: 8 for the first tokens, 7 x 512, then 480: 4,072 ms. A budget of requests x longest would need far more steps.
TEST(TokenBudget, CountsTheSumOfTokens) {
  replica::EngineConfig config = plain_config(2000);
  config.max_num_batched_tokens = 512;
  config.max_num_seqs = 64;
  Solo solo(config, linear_ms(0, 1));
  for (replica::RequestTag tag = 0; tag < 8; ++tag) solo.at(0, tag, 1, 30);
  solo.at(0.004, 99, 4000, 1);
  solo.run();
  EXPECT_NEAR(solo.fate(99).first_client_s, 4.072, 1e-9);
}

// Prompts of one token, one output, one at a time, a fixed step: M/D/1. Mean wait = rho s / (2 (1 - rho)).
TEST(Queueing, OneAtATimeWithAFixedStepIsMD1) {
  for (const double load : {0.5, 0.8, 0.95}) {
    replica::EngineConfig config = plain_config(100);
    config.max_num_seqs = 1;
    const double step_s = 0.01;
    Solo solo(config, oracle::FixedOracle::constant(step_s));
    constexpr std::uint32_t kBatches = 40, kPerBatch = 5000;
    Draw draw(static_cast<std::uint64_t>(load * 100));
    std::vector<double> arrivals;
    double now_s = 0;
    for (std::uint32_t i = 0; i < kBatches * kPerBatch; ++i) {
      now_s -= std::log1p(-draw.fraction()) * step_s / load;
      arrivals.push_back(now_s);
      solo.at(now_s, i, 1, 1);
    }
    solo.run();
    double sum = 0, squares = 0;
    for (std::uint32_t b = 0; b < kBatches; ++b) {
      double wait_s = 0;
      for (std::uint32_t i = b * kPerBatch; i < (b + 1) * kPerBatch; ++i)
        wait_s += solo.fate(i).scheduled_s - arrivals[i];
      wait_s /= kPerBatch;
      sum += wait_s;
      squares += wait_s * wait_s;
    }
    const double mean = sum / kBatches;
    const double error = std::sqrt((squares / kBatches - mean * mean) / (kBatches - 1));
    const double theory = load * step_s / (2 * (1 - load));
    EXPECT_NEAR(mean, theory, 3 * error) << "load " << load;
    EXPECT_LT(error, 0.1 * theory) << "load " << load;
  }
}

// One request wants 1,024 blocks of which some 550 are free as long as others come, its prompt computed 128 blocks at a
// time: it waits, or is preempted a bounded number of times, and everybody finishes.
TEST(Queueing, AVeryLongPromptAmongThousandsFinishes) {
  for (const bool reserve : {true, false}) {
    replica::EngineConfig config = plain_config(1100);
    config.groups[0].block_size = config.scheduler_block_size = 16;
    config.max_num_batched_tokens = 2048;
    config.max_num_seqs = 256;
    config.reserve_full_prompt = reserve;
    config.enable_prefix_caching = true;
    Solo solo(config, linear_ms(10, 0.02));
    constexpr std::uint32_t kOthers = 5000;
    for (std::uint32_t i = 0; i < kOthers; ++i) solo.at(i * 0.004, i, 100, 20);
    solo.at(1.0, kOthers, 1024 * 16 - 8, 4);
    solo.run();
    for (std::uint32_t i = 0; i <= kOthers; ++i) ASSERT_GT(solo.fate(i).done.output, 0U) << i;
    EXPECT_LE(solo.fate(kOthers).done.preemptions, reserve ? 1U : 10U);
    EXPECT_EQ(solo.replica().free_blocks(), 1100U);
  }
}

}  // namespace
}  // namespace dooly::test
