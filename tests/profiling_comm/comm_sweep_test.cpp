#include "profiling_comm/comm_sweep.hpp"

#include "profiling_comm/rank_processes.hpp"
#include "scripted_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace dooly::profiling {
namespace {

using oracle::Sample;
using oracle::SampleStatus;

double law(const CommWork& work) {
  return 10e-6 + static_cast<double>(work.bytes) / 300e9 + (work.mode == LaunchMode::kIsolated ? 5e-6 : 0);
}

CommMachine machine() {
  CommMachine made;
  made.gpus = 4;
  made.environment.gpu = "H200-SXM";
  made.links.assign(4, std::vector<std::string>(4, "nvlink4x18 via nvswitch"));
  return made;
}

CommRequest request(std::vector<std::uint32_t> ranks = {2},
                    std::vector<CollectiveKind> kinds = {CollectiveKind::kAllReduce}) {
  CommRequest made;
  made.ranks = std::move(ranks);
  made.kinds = std::move(kinds);
  made.sizes = {.first = 1024, .last = 65536};
  return made;
}

/// A sweep on scripted groups; counts what was started and measured.
struct Bench {
  MemoryArchive archive;
  CommSettings settings;
  ScriptedGroup::Law answers = law;
  unsigned started = 0;
  std::map<std::pair<std::uint64_t, LaunchMode>, int> prepared;

  CommReport run(const CommRequest& wanted) {
    const RankGroupFactory factory = [this](std::uint32_t) -> std::unique_ptr<RankGroup> {
      ++started;
      return std::make_unique<ScriptedGroup>([this](const CommWork& work) {
        ++prepared[{work.bytes, work.mode}];
        return answers(work);
      });
    };
    return CommSweep(machine(), factory, archive, settings).run(wanted);
  }
  std::vector<Sample> samples(LaunchMode mode, std::uint32_t ranks = 2) const {
    const auto signature = signature_of(key_of({CollectiveKind::kAllReduce, "bfloat16", ranks}, mode));
    for (const oracle::SampleSet& set : archive.measured())
      if (set.signature == signature) return set.samples;
    return {};
  }
};

TEST(CommSweep, EachSizeIsMeasuredBothWays) {
  Bench bench;
  const CommReport report = bench.run(request());
  EXPECT_EQ(report.end, CommReport::End::kDone);
  EXPECT_EQ(report.points, 14u);
  const auto graph = bench.samples(LaunchMode::kBackToBack), eager = bench.samples(LaunchMode::kIsolated);
  ASSERT_EQ(graph.size(), 7u);
  ASSERT_EQ(eager.size(), 7u);
  EXPECT_EQ(graph.front().point, (oracle::SamplePoint{1024, 2}));
  EXPECT_NEAR(eager.front().median_s - graph.front().median_s, 5e-6, 1e-12);
  EXPECT_EQ(bench.archive.environment().topology, "all nvlink4x18 via nvswitch, multicast off");
  ASSERT_EQ(report.curves.size(), 1u);
  EXPECT_EQ(report.curves[0].largest_bytes, 65536u);
  EXPECT_LT(report.curves[0].fold_error, 0.001);
}

TEST(CommSweep, RanksAndCollectivesAreKeysOfTheirOwn) {
  Bench bench;
  const CommReport report = bench.run(request({2, 4}, {CollectiveKind::kAllReduce, CollectiveKind::kSendRecv}));
  EXPECT_EQ(report.curves.size(), 4u);
  EXPECT_EQ(bench.started, 2u);  // one group for all collectives of so many ranks
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(bench.archive.measured().size(), 8u);
  EXPECT_EQ(bench.samples(LaunchMode::kBackToBack, 4).front().point, (oracle::SamplePoint{1024, 4}));
}

TEST(CommSweep, WhatLinksTheGpusIsKeptAsItWasRead) {
  Bench bench;
  bench.run(request({2, 4}));
  ASSERT_EQ(bench.archive.links().size(), 2u);
  const store::CommRecord& links = bench.archive.links().front();
  EXPECT_EQ(links.name, "H200-SXM x4, all nvlink4x18 via nvswitch, multicast off");
  EXPECT_EQ(links.json, R"({"gpu":"H200-SXM","gpus":4,"links":[)"
                        R"(["","nvlink4x18 via nvswitch","nvlink4x18 via nvswitch","nvlink4x18 via nvswitch"],)"
                        R"(["nvlink4x18 via nvswitch","","nvlink4x18 via nvswitch","nvlink4x18 via nvswitch"],)"
                        R"(["nvlink4x18 via nvswitch","nvlink4x18 via nvswitch","","nvlink4x18 via nvswitch"],)"
                        R"(["nvlink4x18 via nvswitch","nvlink4x18 via nvswitch","nvlink4x18 via nvswitch",""]],)"
                        R"("topology":"all nvlink4x18 via nvswitch, multicast off"})");
  EXPECT_EQ(bench.archive.links().back(), links) << "more ranks of the machine: the same record";
}

TEST(CommSweep, WhatIsThereIsNotMeasuredAgain) {
  Bench bench;
  bench.run(request());
  bench.prepared.clear();
  bench.started = 0;
  const CommReport again = bench.run(request());
  EXPECT_EQ(again.points, 0u);
  EXPECT_EQ(bench.started, 0u);
  EXPECT_TRUE(bench.prepared.empty());
  EXPECT_EQ(again.curves[0].points_before, 14u);
}

TEST(CommSweep, ADeadGroupCostsThePointAlone) {
  Bench bench;
  bench.answers = [](const CommWork& work) {
    if (work.bytes == 4096) throw RankFailure(SampleStatus::kLaunchFailed, "rank 1: died");
    return law(work);
  };
  const CommReport report = bench.run(request());
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.restarts, 1u);
  const auto graph = bench.samples(LaunchMode::kBackToBack);
  const auto failed = std::find_if(graph.begin(), graph.end(), [](const Sample& s) { return s.point[0] == 4096; });
  ASSERT_NE(failed, graph.end());
  EXPECT_EQ(failed->status, SampleStatus::kLaunchFailed);
  EXPECT_EQ(failed->note, "rank 1: died");
  EXPECT_EQ(std::count_if(graph.begin(), graph.end(), [](const Sample& s) { return s.median_s > 0; }), 6);
  EXPECT_EQ((bench.prepared[{4096, LaunchMode::kIsolated}]), 0);
  bench.prepared.clear();
  bench.run(request());  // nor in a later run
  EXPECT_TRUE(bench.prepared.empty());
}

TEST(CommSweep, NothingLargerThanWhatFoundNoMemory) {
  Bench bench;
  bench.answers = [](const CommWork& work) {
    if (work.bytes >= 16384) throw RankFailure(SampleStatus::kOutOfMemory, "rank 0: out of memory");
    return law(work);
  };
  const CommReport report = bench.run(request());
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(bench.samples(LaunchMode::kBackToBack).size(), 5u);
  EXPECT_EQ(report.curves[0].given_up, "");
}

TEST(CommSweep, ACollectiveThatAlwaysFailsIsLeft) {
  Bench bench;
  bench.answers = [](const CommWork& work) -> double {
    if (work.collective.kind == CollectiveKind::kAllReduce)
      throw RankFailure(SampleStatus::kLaunchFailed, "rank 0: unhandled");
    return law(work);
  };
  const CommReport report = bench.run(request({2}, {CollectiveKind::kAllReduce, CollectiveKind::kAllGather}));
  ASSERT_EQ(report.curves.size(), 2u);
  EXPECT_EQ(report.curves[0].failed, 3u);
  EXPECT_EQ(report.curves[0].given_up, "3 failures in a row");
  EXPECT_EQ(report.curves[1].points, 14u);
}

TEST(CommSweep, ABudgetEndsItAndTheSameRequestGoesOn) {
  Bench bench;
  double now = 0;
  bench.settings.budget_s = 1;
  bench.settings.now = [&now] { return now; };
  bench.answers = [&now](const CommWork& work) {
    now += 0.01;
    return law(work);
  };
  const CommReport first = bench.run(request());
  EXPECT_EQ(first.end, CommReport::End::kBudget);
  EXPECT_LT(first.points, 14u);
  EXPECT_GT(first.points, 2u);
  bench.settings.budget_s = 0;
  const CommReport rest = bench.run(request());
  EXPECT_EQ(rest.end, CommReport::End::kDone);
  EXPECT_EQ(first.points + rest.points, 14u);
}

TEST(CommSweep, AnInterruptWhileWaitingEndsIt) {
  Bench bench;
  bench.answers = [](const CommWork& work) {
    if (work.bytes == 8192) throw CommInterrupted{};
    return law(work);
  };
  const CommReport report = bench.run(request({2, 4}));
  EXPECT_EQ(report.end, CommReport::End::kInterrupted);
  EXPECT_EQ(report.points, 6u);
  EXPECT_EQ(bench.samples(LaunchMode::kBackToBack, 4).size(), 0u);
}

TEST(CommSweep, IsolatedPointsThatAnEarlierRunMissedAreMadeUpFor) {
  Bench bench;
  bool is_over = false;
  bench.settings.is_interrupted = [&] { return is_over; };
  bench.answers = [&is_over](const CommWork& work) {
    is_over = work.bytes == 2048;  // between its two ways
    return law(work);
  };
  bench.run(request());
  EXPECT_EQ(bench.samples(LaunchMode::kBackToBack).size(), 2u);
  EXPECT_EQ(bench.samples(LaunchMode::kIsolated).size(), 1u);
  bench.settings.is_interrupted = {};
  bench.answers = law;
  bench.run(request());
  EXPECT_EQ(bench.samples(LaunchMode::kIsolated).size(), 7u);
}

}  // namespace
}  // namespace dooly::profiling
