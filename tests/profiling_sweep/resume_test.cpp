#include "profiling_sweep/portable_archive.hpp"

#include "held_out.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace dooly::profiling {
namespace {

using test::Scratch;

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{linear(4096, 6144), linear(4096, 4096), norm(4096), experts()};
  return all;
}

std::size_t points_in(const std::vector<oracle::SampleSet>& sets) {
  std::size_t count = 0;
  for (const oracle::SampleSet& set : sets) count += set.samples.size();
  return count;
}

/// A counter that a killed process leaves behind.
class SharedCount {
 public:
  SharedCount()
      : count_(new(::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   Count(0)) {}
  ~SharedCount() { ::munmap(count_, sizeof(Count)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  void add() { count_->fetch_add(1); }
  std::uint64_t value() const { return count_->load(); }

 private:
  using Count = std::atomic<std::uint64_t>;
  Count* count_;
};

SweepReport sweep_into(const std::filesystem::path& file, SyntheticMeasurer& device) {
  PortableArchive archive(file);
  archive.environment(device.environment());
  SweepSettings settings;
  settings.now = [&] { return device.now(); };
  const SweepReport report = Sweep(device, archive, settings).run(operations());
  archive.finish();
  return report;
}

/// Sweeps in a child that kills itself before its measurement number `at`.
void sweep_and_die(const std::filesystem::path& file, std::uint64_t at, SharedCount& measured) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SyntheticMeasurer device;
    device.before = [&](const oracle::OperatorKey&, oracle::Sample&) {
      if (device.measured() == at) ::raise(SIGKILL);
      measured.add();
    };
    sweep_into(file, device);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Resume, AKilledSweepLosesAtMostThePointInFlight) {
  const Scratch scratch;
  SharedCount measured;
  for (const std::uint64_t at : {7u, 1u, 23u}) {
    sweep_and_die(scratch / "f.jsonl.zst", at, measured);
    PortableArchive archive(scratch / "f.jsonl.zst");
    archive.environment(SyntheticMeasurer().environment());
    EXPECT_EQ(points_in(archive.measured()), measured.value());
  }
  EXPECT_EQ(measured.value(), 6u + 0 + 22);
}

TEST(Resume, ASecondStartMeasuresOnlyTheRest) {
  const Scratch scratch;
  SyntheticMeasurer noiseless(0);
  const SweepReport whole = sweep_into(scratch / "whole", noiseless);
  SharedCount measured;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SyntheticMeasurer device(0);
    device.before = [&](const oracle::OperatorKey&, oracle::Sample&) {
      if (device.measured() == whole.points / 2) ::raise(SIGKILL);
      measured.add();
    };
    sweep_into(scratch / "halves", device);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  SyntheticMeasurer device(0);
  const SweepReport rest = sweep_into(scratch / "halves", device);
  EXPECT_EQ(rest.end, SweepReport::End::kDone);
  const std::uint64_t all = rest.points + measured.value();
  EXPECT_LE(all, whole.points + whole.points / 10);  // what a near signature would have saved may be asked for
  EXPECT_GE(all + all / 10, whole.points);
  std::size_t before = 0;
  for (const OperationReport& each : rest.operations) before += each.points_before;
  EXPECT_EQ(before, measured.value());
}

}  // namespace
}  // namespace dooly::profiling
