#include "profiling_sweep/worker_measurer.hpp"

#include "held_out.hpp"
#include "profiling_sweep/sweep_error.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace dooly::profiling {
namespace {

/// Breaks in one way at 64 rows.
class Breaks final : public SyntheticMeasurer {
 public:
  explicit Breaks(std::function<void()> how) {
    before = [how = std::move(how)](const oracle::OperatorKey&, oracle::Sample& sample) {
      if (sample.point[0] == 64) how();
    };
  }
};

MeasurerFactory breaking(std::function<void()> how) {
  return [how] { return std::make_unique<Breaks>(how); };
}

TEST(WorkerMeasurer, AnswersAsTheMeasurerItself) {
  SyntheticMeasurer here;
  WorkerMeasurer worker([] { return std::make_unique<SyntheticMeasurer>(); });
  EXPECT_EQ(worker.environment(), here.environment());
  std::string why;
  EXPECT_TRUE(worker.supports(norm(4096).key, why));
  const oracle::Sample sample = worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool);
  EXPECT_EQ(sample, here.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool));
  const auto latent = oracle::mla_attention_key("bfloat16", "bfloat16", {.heads = 16, .kv_lora_rank = 512}, "flashmla");
  EXPECT_FALSE(worker.supports(latent, why));
  EXPECT_EQ(why, "no latent attention on this device");
}

TEST(WorkerMeasurer, IsRenewedAsAnotherProcessAndCountsNoRestart) {
  WorkerMeasurer worker([] {
    auto device = std::make_unique<SyntheticMeasurer>();
    device->before = [](const oracle::OperatorKey&, oracle::Sample& sample) {
      sample.note = std::to_string(::getpid());
    };
    return device;
  });
  const auto process = [&] { return worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool).note; };
  const std::string first = process();
  EXPECT_EQ(process(), first);
  EXPECT_TRUE(worker.renew());
  EXPECT_NE(process(), first);
  EXPECT_EQ(worker.restarts(), 0u);
}

TEST(WorkerMeasurer, ALostDeviceCostsThePointAlone) {
  WorkerMeasurer worker(breaking([] { throw std::runtime_error("CUDA error: illegal address\nsticky"); }));
  EXPECT_EQ(worker.measure(norm(4096).key, {16}, oracle::ClockRegime::kCool).status, oracle::SampleStatus::kOk);
  const oracle::Sample lost = worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool);
  EXPECT_EQ(lost.status, oracle::SampleStatus::kLaunchFailed);
  EXPECT_EQ(lost.note, "CUDA error: illegal address sticky");
  EXPECT_EQ(lost.point[0], 64u);
  EXPECT_EQ(lost.regime, oracle::ClockRegime::kCool);
  EXPECT_EQ(worker.measure(norm(4096).key, {256}, oracle::ClockRegime::kCool).status, oracle::SampleStatus::kOk);
  EXPECT_EQ(worker.restarts(), 1u);
}

TEST(WorkerMeasurer, ACrashCostsThePointAlone) {
  WorkerMeasurer worker(breaking([] { ::raise(SIGKILL); }));
  const oracle::Sample lost = worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool);
  EXPECT_EQ(lost.status, oracle::SampleStatus::kLaunchFailed);
  EXPECT_NE(lost.note.find("killed by signal 9"), std::string::npos) << lost.note;
  EXPECT_EQ(worker.measure(norm(4096).key, {256}, oracle::ClockRegime::kCool).status, oracle::SampleStatus::kOk);
}

TEST(WorkerMeasurer, AHangCostsThePointAlone) {
  WorkerMeasurer worker(breaking([] { ::pause(); }), {.seconds_per_point = 0.2});
  const oracle::Sample lost = worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool);
  EXPECT_EQ(lost.status, oracle::SampleStatus::kLaunchFailed);
  EXPECT_NE(lost.note.find("no answer in 0.2 s"), std::string::npos) << lost.note;
}

TEST(WorkerMeasurer, GivesAPointUpWhenTold) {
  bool gives_up = false;
  WorkerMeasurer worker(breaking([] { ::pause(); }), {.gives_up = [&] { return gives_up; }});
  worker.environment();
  gives_up = true;
  EXPECT_THROW(worker.measure(norm(4096).key, {64}, oracle::ClockRegime::kCool), WorkerMeasurer::Interrupted);
}

TEST(WorkerMeasurer, AMeasurerThatCannotBeMadeStopsTheSweep) {
  WorkerMeasurer worker([]() -> std::unique_ptr<Measurer> { throw std::runtime_error("no CUDA device"); });
  EXPECT_EQ(test::message_of<SweepError>([&] { worker.environment(); }), "no CUDA device");
}

TEST(WorkerMeasurer, ASweepGoesOnBehindACrash) {
  WorkerMeasurer worker(breaking([] { std::abort(); }));
  MemoryArchive archive;
  const SweepReport report = Sweep(worker, archive, {}).run({linear(4096, 6144), norm(4096)});
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  EXPECT_EQ(report.operations[0].failed, 1u);
  EXPECT_GE(worker.restarts(), 1u);
}

}  // namespace
}  // namespace dooly::profiling
