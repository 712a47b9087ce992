#include "profiling_sweep/sweep.hpp"

#include "held_out.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dooly::profiling {
namespace {

class Sweeps : public ::testing::Test {
 protected:
  Sweeps() {
    settings.now = [this] { return device.now(); };
  }
  SweepReport run(const std::vector<Operation>& operations) { return Sweep(device, archive, settings).run(operations); }
  SyntheticMeasurer device;
  MemoryArchive archive;
  SweepSettings settings;
};

TEST_F(Sweeps, SaveNineTenthsOfTheDenseGrid) {
  const SweepReport report = run({linear(4096, 6144), linear(4096, 4096), norm(4096), attention()});
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  EXPECT_LE(report.paid_s(), 0.1 * report.dense_s());
  EXPECT_NEAR(report.spent_s, device.now(), 1e-9);
  EXPECT_EQ(report.points, device.measured());
}

TEST_F(Sweeps, TheDenseGridCostsWhatWasEstimated) {
  const SweepReport adaptive = run({linear(4096, 6144), norm(4096)});
  SyntheticMeasurer other;
  MemoryArchive empty;
  SweepSettings dense = settings;
  dense.dense = true;
  dense.now = [&] { return other.now(); };
  const SweepReport report = Sweep(other, empty, dense).run({linear(4096, 6144), norm(4096)});
  EXPECT_EQ(report.points, 2u * 323);
  EXPECT_NEAR(adaptive.dense_s() / report.spent_s, 1, 0.05);
}

TEST_F(Sweeps, MeasureNothingThatIsThere) {
  run({linear(4096, 6144), norm(4096)});
  const std::uint64_t before = device.measured();
  const SweepReport again = run({norm(4096), linear(4096, 6144)});
  EXPECT_EQ(again.points, 0u);
  EXPECT_EQ(device.measured(), before);
  EXPECT_EQ(again.operations[0].points_before, archive.measured().size() == 2 ? again.operations[0].points_before : 0);
  EXPECT_GT(again.operations[0].points_before, 4u);
}

TEST_F(Sweeps, EndAtTheBudgetOfDeviceTime) {
  settings.budget_s = 1;
  const SweepReport report = run({linear(4096, 6144), linear(4096, 4096), attention()});
  EXPECT_EQ(report.end, SweepReport::End::kBudget);
  EXPECT_GE(report.spent_s, 1);
  EXPECT_LT(report.spent_s, 1.2);
  settings.budget_s = 0;
  const SweepReport rest = run({linear(4096, 6144), linear(4096, 4096), attention()});
  EXPECT_EQ(rest.end, SweepReport::End::kDone);
}

TEST_F(Sweeps, EndAtTheNumberOfPoints) {
  settings.max_points = 10;
  EXPECT_EQ(run({linear(4096, 6144), attention()}).end, SweepReport::End::kPoints);
  EXPECT_EQ(device.measured(), 10u);
}

TEST_F(Sweeps, EndWhenInterrupted) {
  settings.is_interrupted = [&] { return device.measured() == 5; };
  EXPECT_EQ(run({linear(4096, 6144)}).end, SweepReport::End::kInterrupted);
  EXPECT_EQ(archive.measured()[0].samples.size(), 5u);
  EXPECT_TRUE(archive.notes().back().starts_with(R"({"event":"sweep interrupted","points":5,)"))
      << archive.notes().back();
}

TEST_F(Sweeps, BeginWithAllGroupsBeforeTheBudgetEnds) {
  settings.max_points = 40;
  run({attention(), linear(4096, 6144), norm(4096), experts()});
  EXPECT_EQ(archive.measured().size(), 4u);
}

TEST_F(Sweeps, KeepFailuresAsResultsAndGoOn) {
  device.before = [](const oracle::OperatorKey& key, oracle::Sample& sample) {
    if (key.kind != "linear" || sample.point[0] < 4096) return;
    sample.status = oracle::SampleStatus::kOutOfMemory;
    sample.note = "no memory";
  };
  const SweepReport report = run({linear(4096, 6144), norm(4096)});
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  EXPECT_GE(report.operations[0].failed, 1u);
  EXPECT_LE(report.operations[0].failed, 3u);
  EXPECT_GT(report.operations[0].points, 10u);
  EXPECT_EQ(report.operations[1].failed, 0u);
}

TEST_F(Sweeps, SayWhyAnOperationIsNotMeasured) {
  const Operation latent = operation_of(
      oracle::mla_attention_key("bfloat16", "bfloat16",
                                {.heads = 16, .kv_lora_rank = 512, .qk_nope_dim = 128, .qk_rope_dim = 64, .v_dim = 128},
                                "flashmla"),
      oracle::Binding::kAttention);
  const SweepReport report = run({latent, norm(4096)});
  EXPECT_EQ(report.operations[0].unsupported, "no latent attention on this device");
  EXPECT_EQ(report.operations[0].points, 0u);
  EXPECT_TRUE(report.operations[1].is_done);
}

class TooFast final : public SyntheticMeasurer {
 public:
  explicit TooFast(int times) : times_(times) {}
  oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                         oracle::ClockRegime regime) override {
    oracle::Sample sample = SyntheticMeasurer::measure(key, point, regime);
    if (point[0] == 8192 && times_-- > 0) sample.median_s /= 10;
    return sample;
  }

 private:
  int times_;
};

std::vector<oracle::Sample> at_8192(const MemoryArchive& archive) {
  std::vector<oracle::Sample> samples = archive.measured().at(0).samples;
  std::erase_if(samples, [](const oracle::Sample& s) { return s.point[0] != 8192; });
  return samples;
}

TEST_F(Sweeps, AnotherVersionOfAKernelLibraryIsAnotherEnvironmentForItsOperatorsAlone) {
  const std::vector<Operation> both{linear(4096, 6144), experts()};
  device.libraries = {{"torch", "2.11.0"}, {"triton", "3.6.0"}};
  const SweepReport first = run(both);
  device.libraries["triton"] = "3.7.0";
  const SweepReport second = run(both);
  EXPECT_EQ(second.operations.at(0).points, 0u);  // no kernel of Triton's
  EXPECT_EQ(second.operations.at(0).points_before, first.operations.at(0).points);
  EXPECT_GT(second.operations.at(1).points, 0u);
  EXPECT_EQ(second.operations.at(1).points_before, 0u);
  device.libraries = {{"flashinfer", "0.6.14"}, {"torch", "2.11.0"}, {"triton", "3.6.0"}};  // of another back end
  EXPECT_EQ(run(both).points, 0u);
  EXPECT_EQ(archive.environment().libraries.count("flashinfer"), 0u);
}

TEST_F(Sweeps, NameKernelsThatAreNotOfTheFamilyOfTheKey) {
  EXPECT_EQ(run({linear(4096, 4096)}).operations.at(0).finding, "");
  device.kernel_family = "torch";
  EXPECT_EQ(run({linear(4096, 6144)}).operations.at(0).finding, "ran kernels of torch, the key names cublas");
}

TEST_F(Sweeps, RepeatWhatIsFasterThanPhysicsAllows) {
  TooFast once(1);
  Sweep(once, archive, settings).run({linear(4096, 6144)});
  ASSERT_EQ(at_8192(archive).size(), 1u);
  EXPECT_EQ(at_8192(archive)[0].status, oracle::SampleStatus::kOk);

  MemoryArchive other;
  TooFast always(1000);
  Sweep(always, other, settings).run({linear(4096, 6144)});
  ASSERT_EQ(at_8192(other).size(), 1u);
  EXPECT_EQ(at_8192(other)[0].status, oracle::SampleStatus::kSuspect);
  EXPECT_NE(at_8192(other)[0].note.find("physical limit"), std::string::npos);
}

class Disturbed final : public SyntheticMeasurer {
 public:
  oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                         oracle::ClockRegime regime) override {
    oracle::Sample sample = SyntheticMeasurer::measure(key, point, regime);
    if (point[0] == 64 && count++ == 0) sample.median_s *= 50;
    return sample;
  }
  int count = 0;
};

TEST_F(Sweeps, RepeatWhatTookLongerThanSomethingLarger) {
  Disturbed disturbed;
  const SweepReport report = Sweep(disturbed, archive, settings).run({norm(4096)});
  EXPECT_EQ(disturbed.count, 2);
  EXPECT_LE(report.points, 12u);
  EXPECT_LE(held_out(norm(4096), archive.measured().at(0).samples, settings.refine.limits).p90, 0.03);
}

TEST_F(Sweeps, AverageShortPointsOverThreeProcesses) {
  settings.refine.both_regimes = true;
  device.processes = {0, 0.3e-6, 0.15e-6};
  const SweepReport report = run({norm(4096), linear(4096, 4096)});
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  std::size_t repeats = 0;
  for (const oracle::SampleSet& set : archive.measured())
    for (const oracle::Sample& sample : set.samples) {
      const double law = SyntheticMeasurer::law(set.key, sample.point, sample.regime);
      if (law > 5.1e-6) {
        EXPECT_EQ(sample.processes, 0);
        EXPECT_EQ(sample.count, 20u);
      } else if (law < 4.9e-6) {
        EXPECT_EQ(sample.processes, 3);
        EXPECT_EQ(sample.count, 60u);
        EXPECT_NEAR(sample.median_s - law, 0.15e-6, 0.04e-6);
        EXPECT_NEAR(sample.std_s, 0.1225e-6, 0.02e-6);
        EXPECT_NEAR(sample.min_s, law, 0.05e-6);
        repeats += 2;
      }
    }
  EXPECT_GE(repeats, 10u);
  EXPECT_EQ(report.points + repeats, device.measured());
  EXPECT_NEAR(report.spent_s, device.now(), 1e-9);
  const std::uint64_t before = device.measured();
  run({norm(4096), linear(4096, 4096)});
  EXPECT_EQ(device.measured(), before);
}

TEST_F(Sweeps, GoOnWithShortPointsAfterAnInterruption) {
  settings.refine.both_regimes = true;
  device.processes = {0, 0.3e-6, 0.15e-6};
  const std::uint64_t points = run({norm(4096)}).points;
  const std::uint64_t all = device.measured();
  SyntheticMeasurer other;
  other.processes = device.processes;
  MemoryArchive cut;
  SweepSettings until = settings;
  until.now = [&] { return other.now(); };
  until.is_interrupted = [&] { return other.measured() == points + 3; };
  EXPECT_EQ(Sweep(other, cut, until).run({norm(4096)}).end, SweepReport::End::kInterrupted);
  until.is_interrupted = {};
  EXPECT_EQ(Sweep(other, cut, until).run({norm(4096)}).points, 0u);
  EXPECT_EQ(other.measured(), all);
}

TEST_F(Sweeps, LeavePointsOfEarlierRunsAlone) {
  run({norm(4096)});
  oracle::Sample slow = archive.measured().at(0).samples.front();
  slow.median_s *= 50;  // as by a kernel that is slow at this size
  archive.sample(norm(4096).key, slow);
  run({norm(4096)});
  EXPECT_EQ(archive.measured().at(0).samples.front().median_s, slow.median_s);
}

class Watcher final : public SweepObserver {
 public:
  void progress(const SweepProgress& progress) override { all.push_back(progress); }
  void measured(const Operation&, const oracle::Sample&) override { ++points; }
  std::vector<SweepProgress> all;
  std::size_t points = 0;
};

TEST_F(Sweeps, TellHowFarTheyAre) {
  Watcher watcher;
  const SweepReport report = Sweep(device, archive, settings, &watcher).run({linear(4096, 6144), norm(4096)});
  EXPECT_EQ(watcher.points, report.points);
  EXPECT_EQ(watcher.all.back().operations, 2u);
  double half_way = 0;
  for (const SweepProgress& progress : watcher.all)
    if (progress.points == report.points / 2) half_way = progress.left_s;
  EXPECT_GT(half_way, 0);
  EXPECT_LT(half_way, 3 * report.spent_s);
}

}  // namespace
}  // namespace dooly::profiling
