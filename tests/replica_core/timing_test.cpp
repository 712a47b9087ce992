// Hand-computed time lines of one replica. Times in comments are milliseconds.
#include "solo.hpp"

#include "replica_core/clock_regime.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace dooly::test {
namespace {

constexpr double kMs = 1e-3;
constexpr double kTiny = 1e-12;

// A step of n tokens takes 10 + n. Prefill 0..20, decodes 20..31 and 31..42.
TEST(Synchronous, OneRequestIsAPrefillAndItsDecodes) {
  Solo solo(plain_config(100), linear_ms(10, 1));
  solo.at(0, 7, 10, 3);
  solo.run();
  EXPECT_EQ(solo.fate(7).scheduled_s, 0);
  EXPECT_NEAR(solo.fate(7).first_engine_s, 20 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(7).first_client_s, 20 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(7).done.client_s, 42 * kMs, kTiny);
  EXPECT_EQ(solo.fate(7).done.output, 3U);
  ASSERT_EQ(solo.gaps().size(), 2U);
  for (const auto& [gap, count] : solo.gaps()) EXPECT_NEAR(gap, 11 * kMs, kTiny);
  const replica::ReplicaStats& stats = solo.replica().stats();
  EXPECT_EQ(stats.iterations, 3U);
  EXPECT_EQ(stats.prefill_iterations, 1U);
  EXPECT_EQ(stats.decode_iterations, 2U);
  EXPECT_EQ(stats.scheduled_tokens, 12U);  // the last token is never computed
  EXPECT_EQ(stats.output_tokens, 3U);
  EXPECT_NEAR(stats.prefill_s, 20 * kMs, kTiny);
  EXPECT_NEAR(stats.decode_s, 22 * kMs, kTiny);
  // Blocks of 4: three for 10 tokens until the step at 31 computes token 12 (within the third block).
  EXPECT_EQ(stats.peak_blocks, 3U);
  EXPECT_NEAR(stats.block_seconds, 3 * 42 * kMs, kTiny);
}

// A (4 in, 4 out) at 0, B (6 in, 2 out) at 15, steps 10 + n:
//    0..14 A's prompt; 14..25 A alone, B is not there yet; 25..42 A and B's prompt (7 tokens); 42..54 both.
TEST(Synchronous, TwoRequestsOverlap) {
  Solo solo(plain_config(100), linear_ms(10, 1));
  solo.at(0, 1, 4, 4);
  solo.at(15 * kMs, 2, 6, 2);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_client_s, 14 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).scheduled_s, 25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).first_client_s, 42 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.client_s, 54 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).done.client_s, 54 * kMs, kTiny);
  const replica::ReplicaStats& stats = solo.replica().stats();
  EXPECT_EQ(stats.mixed_iterations, 1U);
  EXPECT_NEAR(stats.mixed_s, 17 * kMs, kTiny);
}

// 20 tokens at most 8 a step: 18 + 18 + 14 = 50 to the first token, one decode of 11.
TEST(Synchronous, AChunkedPrefillAnswersAfterItsLastChunk) {
  replica::EngineConfig config = plain_config(100);
  config.max_num_batched_tokens = 8;
  config.max_num_seqs = 8;
  Solo solo(config, linear_ms(10, 1));
  solo.at(0, 1, 20, 2);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_client_s, 50 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.client_s, 61 * kMs, kTiny);
}

// The answer of 1,000 tokens: TTFT is the prefill, each gap one decode. Step: 10 + context / 1000 with the context
// after it; prefill 5 tokens: 10.005; decode j (from 1) has context 5 + j.
TEST(Synchronous, EveryGapOfALongAnswerIsOneDecode) {
  Solo solo(plain_config(1000), oracle::FixedOracle({.base = 10 * kMs, .per_1000_context = kMs}));
  solo.at(0, 1, 5, 1000);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_client_s, 10.005 * kMs, kTiny);
  ASSERT_EQ(solo.gap_count(), 999U);
  double sum = 10.005;
  for (std::size_t j = 1; j < 1000; ++j) {
    ASSERT_NEAR(solo.gaps()[j - 1].first, (10 + (5.0 + static_cast<double>(j)) / 1000) * kMs, 1e-11) << j;
    sum += 10 + (5.0 + static_cast<double>(j)) / 1000;
  }
  EXPECT_NEAR(solo.fate(1).done.client_s, sum * kMs, 1e-9);
}

// An idle replica starts at once when something comes, however long it slept.
TEST(Synchronous, AnIdleReplicaWakesAtTheArrival) {
  Solo solo(plain_config(100), linear_ms(10, 1));
  solo.at(0, 1, 10, 3);
  solo.at(7.5, 2, 10, 1);
  solo.run();
  EXPECT_EQ(solo.fate(2).scheduled_s, 7.5);
  EXPECT_NEAR(solo.fate(2).first_client_s, 7.52, kTiny);
  EXPECT_NEAR(solo.replica().stats().prefill_s, 40 * kMs, kTiny);  // sleep is no step time
}

// One turn of the loop takes 1, a launch 2, and a full CUDA graph starts 50 later if it follows a prompt; the device
// takes 10. Prompt: device 1..11. First decode, a full graph behind a prompt: launched 12..64, its first kernel at 62,
// device 62..72. Second decode: device 73..83.
TEST(Synchronous, OnlyTheFirstFullGraphBehindAPromptWaitsForIt) {
  oracle::Platform host;
  host.turn = kMs;
  host.launch_full.fixed = host.launch_none.fixed = host.launch_piecewise.fixed = 2 * kMs;
  host.launch_full_after_prefill = 50 * kMs;
  Solo solo(plain_config(100),
            oracle::FixedOracle({.base = 10 * kMs}, oracle::HostTimes(host, 1, 0), oracle::CudaGraphs({1, 2, 4})));
  solo.at(0, 1, 8, 3);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_engine_s, 11 * kMs, kTiny);
  ASSERT_EQ(solo.gap_count(), 2U);
  EXPECT_NEAR(solo.gaps()[0].first, 61 * kMs, kTiny);
  EXPECT_NEAR(solo.gaps()[1].first, 11 * kMs, kTiny);
}

/// schedule 1, launch 2, sample 0.5, update 0.25, delivery 4; the device takes `device` per step.
oracle::FixedOracle with_host_times(double device, double launch = 2) {
  oracle::Platform host;
  host.schedule = kMs;
  host.launch_none.fixed = launch * kMs;
  host.launch_full_after_prefill = 50 * kMs;  // no step here is one CUDA graph
  host.sample = 0.5 * kMs;
  host.update = 0.25 * kMs;
  host.delivery = host.delivery_single = 4 * kMs;
  return oracle::FixedOracle({.base = device * kMs}, oracle::HostTimes(host, 1, 0));
}

// Step 0: scheduled 0..1, launched ..3, sampler ..3.5; device 1..11; read and updated 11..11.25.
// Step 1 starts at 11.25 only: device 12.25..22.25, token at 22.5. Step 2: 23.5..33.5, token at 33.75.
TEST(Synchronous, HostTimesDelayEveryStep) {
  Solo solo(plain_config(100), with_host_times(10));
  solo.at(0, 1, 8, 3);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_engine_s, 11.25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).first_client_s, 15.25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.engine_s, 33.75 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.client_s, 37.75 * kMs, kTiny);
}

replica::EngineConfig asynchronous() {
  replica::EngineConfig config = plain_config(100);
  config.async_scheduling = true;
  return config;
}

// Step 0 scheduled at 0, launched by 3.5, device 1..11. Step 1 scheduled at 3.5, before result 0 is known; device
// 11..21. Then the loop waits: result 0 at 11.25. Step 2 scheduled at 11.25, device 21..31; result 1 at 21.25. The call
// at 21.25 schedules nothing (the last token is in flight); result 2 at 31.25; one call flushes the finished request.
TEST(Asynchronous, TheNextStepIsLaunchedBeforeTheResultIsRead) {
  Solo solo(asynchronous(), with_host_times(10));
  solo.write_down_steps();
  solo.at(0, 1, 8, 3);
  solo.run();
  ASSERT_EQ(solo.steps().size(), 5U);
  const double decided[] = {0, 3.5, 11.25, 21.25, 31.25};
  const std::uint32_t tokens[] = {8, 1, 1, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(solo.steps()[i].decided_s, decided[i] * kMs, kTiny) << i;
    EXPECT_EQ(solo.steps()[i].tokens, tokens[i]) << i;
  }
  EXPECT_NEAR(solo.fate(1).first_engine_s, 11.25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).first_client_s, 15.25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.engine_s, 31.25 * kMs, kTiny);
  ASSERT_EQ(solo.gap_count(), 2U);
  for (const auto& [gap, count] : solo.gaps()) EXPECT_NEAR(gap, 10 * kMs, kTiny);  // host times are hidden
}

// B comes at 5, while the loop launches step 1 (3.5..7.0) and then waits for result 0: it is read at 11.25, joins step
// 2 (device 21..31) and has its token at 31.25.
TEST(Asynchronous, AnArrivalIsReadBetweenStepsOnly) {
  Solo solo(asynchronous(), with_host_times(10));
  solo.at(0, 1, 8, 6);
  solo.at(5 * kMs, 2, 8, 1);
  solo.run();
  EXPECT_NEAR(solo.fate(2).scheduled_s, 11.25 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).first_engine_s, 31.25 * kMs, kTiny);
}

// An arrival at the very time at which the loop comes round is seen.
TEST(Asynchronous, AnArrivalAtTheTurnIsSeen) {
  Solo solo(asynchronous(), oracle::FixedOracle::constant(0.5));
  solo.at(0, 1, 8, 10);
  solo.at(1.0, 2, 8, 1);
  solo.run();
  EXPECT_EQ(solo.fate(2).scheduled_s, 1.0);
}

// The device needs 1 but its last kernel is launched at 1 + 5 = 6: the step ends at 6, the loop goes on at 6.5.
// Synchronous, two tokens: 6.75 after each start.
TEST(Asynchronous, ALaunchBoundStepEndsWithItsLaunch) {
  Solo solo(plain_config(100), with_host_times(1, 5));
  solo.at(0, 1, 8, 2);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_engine_s, 6.75 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.engine_s, 13.5 * kMs, kTiny);

  // Asynchronous: step 1 is launched 7.5..12.5 (sampler ..13) before result 0 of 6 is read at 13.25.
  Solo pipelined(asynchronous(), with_host_times(1, 5));
  pipelined.at(0, 1, 8, 2);
  pipelined.run();
  EXPECT_NEAR(pipelined.fate(1).first_engine_s, 13.25 * kMs, kTiny);
}

// Kernels of 6 that begin at 1 would end at 7; the launch ends at 6.5 on average and scatters by 2: the step ends at
// 6.5 + 0.25 + sqrt(0.25² + 0.8²).
TEST(Synchronous, LaunchesThatScatterDelayStepsThatAreJustAsLong) {
  oracle::Platform host;
  host.schedule = kMs;
  host.launch_none.fixed = 5 * kMs;
  host.launch_spread = 0.4;
  host.sample = 0.5 * kMs;
  Solo solo(plain_config(100), oracle::FixedOracle({.base = 6 * kMs}, oracle::HostTimes(host, 1, 0)));
  solo.at(0, 1, 8, 1);
  solo.run();
  EXPECT_NEAR(solo.fate(1).first_engine_s, (6.75 + std::sqrt(0.0625 + 0.64)) * kMs, kTiny);
}

TEST(ClockRegime, CoolsAtItsOwnPace) {
  const oracle::LatencyOracle::ClockModel model{1, 0.1, 0.4};
  oracle::DeviceState device;
  replica::advance_clock_regime(device, model, 0, 0.1, 1);
  EXPECT_DOUBLE_EQ(device.sustained, 0.5);
  replica::advance_clock_regime(device, model, 0.4, 0, 1);
  EXPECT_DOUBLE_EQ(device.sustained, 0.25);
  replica::advance_clock_regime(device, model, 0, 0.4, 0);  // a step that does not drive it cools it as well
  EXPECT_DOUBLE_EQ(device.sustained, 0.125);
}

// Input 2 + 0.5 per 1,000 tokens runs in parallel, hashing of 1 per 1,000 tokens one after the other: requests of 2,000
// tokens that come together at 100 are ready at 103 + 2 = 105 and 105 + 2 = 107.
TEST(Inputs, RequestsQueueForHashing) {
  oracle::Platform host;
  host.input = 2 * kMs;
  host.input_per_1000_tokens = 0.5 * kMs;
  host.hashing_per_1000_tokens = kMs;
  replica::EngineConfig config = plain_config(2000);
  Solo solo(config, oracle::FixedOracle({.base = 0.25 * kMs}, oracle::HostTimes(host, 1, 0)));
  solo.at(0.1, 1, 2000, 1);
  solo.at(0.1, 2, 2000, 1);
  solo.run();
  EXPECT_NEAR(solo.fate(1).scheduled_s, 105 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).scheduled_s, 107 * kMs, kTiny);
}

}  // namespace
}  // namespace dooly::test
