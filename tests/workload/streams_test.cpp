#include "workload/workload.hpp"

#include "support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace dooly::workload {
namespace {

using namespace test;
using scenario::Arrivals;
using scenario::Fixed;

scenario::SyntheticSpec synthetic(std::uint64_t requests, decltype(Arrivals::process) process) {
  scenario::SyntheticSpec spec;
  spec.requests = requests;
  spec.arrivals.process = std::move(process);
  spec.prompt_tokens = scenario::Uniform{10, 20};
  spec.output_tokens = Fixed{3};
  return spec;
}

std::vector<double> times(const std::vector<Taken>& all) {
  std::vector<double> result;
  for (const Taken& taken : all) result.push_back(taken.request.arrival_s);
  return result;
}

std::vector<Taken> all_of(const std::vector<scenario::WorkloadSpec>& specs, std::uint64_t seed = 1,
                          double service_s = 0.5) {
  return take_all(*make_workload(specs, seed), service_s);
}

TEST(Streams, ConstantArrivalsStartAtZero) {
  EXPECT_EQ(times(all_of({named("a", synthetic(4, Arrivals::Constant{4}))})),
            (std::vector<double>{0, 0.25, 0.5, 0.75}));
}

TEST(Streams, PoissonArrivalsHaveTheRightRateAndCv) {
  const auto at = times(all_of({named("a", synthetic(200'000, Arrivals::Poisson{20}))}));
  double squares = 0, last = 0;
  for (const double time : at) {
    squares += (time - last) * (time - last);
    last = time;
  }
  const double mean = last / 200'000;
  EXPECT_NEAR(mean, 0.05, 0.05 * 0.01);                          // standard error 0.22 %
  EXPECT_NEAR(squares / 200'000, 2 * 0.05 * 0.05, 0.0025 * 0.04);  // E[X^2] = 2 mean^2
}

TEST(Streams, GammaArrivalsHaveTheAskedCv) {
  const auto at = times(all_of({named("a", synthetic(200'000, Arrivals::Gamma{20, 3}))}));
  double squares = 0, last = 0;
  for (const double time : at) {
    squares += (time - last) * (time - last);
    last = time;
  }
  const double mean = last / 200'000;
  EXPECT_NEAR(mean, 0.05, 0.05 * 0.03);
  EXPECT_NEAR(std::sqrt(squares / 200'000 - mean * mean) / mean, 3, 0.1);
}

TEST(Streams, BurstsComeTogetherAtTheMeanRate) {
  const auto at = times(all_of({named("a", synthetic(60'000, Arrivals::Bursts{30, 3}))}));
  for (std::size_t i = 0; i < at.size(); i += 3) ASSERT_TRUE(at[i] == at[i + 1] && at[i] == at[i + 2]);
  EXPECT_NEAR(60'000 / at.back(), 30, 1);
}

TEST(Streams, ReplayTakesTimesFromAFileAndMayEndEarly) {
  const TempFile file("times.csv", "arrival_s\n0.5\n0.5\n2\n");
  EXPECT_EQ(times(all_of({named("a", synthetic(10, Arrivals::Replay{file.path()}))})),
            (std::vector<double>{0.5, 0.5, 2}));
  const TempFile unsorted("times.txt", "1\n0.5\n");
  EXPECT_EQ(error_of([&] { make_workload({named("a", synthetic(10, Arrivals::Replay{unsorted.path()}))}, 1); }),
            unsorted.path().string() + ":2: arrival_s: 0.5 is before the previous time 1");
}

TEST(Streams, DurationEndsTheArrivals) {
  auto spec = synthetic(1, Arrivals::Constant{2});
  spec.requests.reset();
  spec.duration_s = 2;
  EXPECT_EQ(times(all_of({named("a", spec)})), (std::vector<double>{0, 0.5, 1, 1.5}));
  spec.duration_s.reset();
  EXPECT_NE(error_of([&] { make_workload({named("a", spec)}, 1); }), "");
}

TEST(Streams, ClosedLoopSendsWhenTheAnswerIsThereAndTheClientHasThought) {
  // Two clients, service 0.5, think 1: each sends every 1.5 s.
  const auto spec = synthetic(6, Arrivals::ClosedLoop{2, Fixed{1}});
  EXPECT_EQ(times(all_of({named("a", spec)})), (std::vector<double>{0, 0, 1.5, 1.5, 3, 3}));
}

TEST(Streams, ClosedLoopGoesOnAfterARejection) {
  const auto source = make_workload({named("a", synthetic(2, Arrivals::ClosedLoop{1, Fixed{0}}))}, 1);
  Request request;
  source->take(request);
  EXPECT_EQ(source->next_arrival_s(), kNever);
  EXPECT_FALSE(source->exhausted());
  source->finished(request.ticket, 3, Outcome::kRejected);
  EXPECT_EQ(source->next_arrival_s(), 3);
  source->take(request);
  EXPECT_TRUE(source->exhausted());
}

TEST(Streams, SameSeedSameStreamOtherSeedAnother) {
  const std::vector<scenario::WorkloadSpec> specs = {named("a", synthetic(100, Arrivals::Poisson{1}))};
  EXPECT_EQ(times(all_of(specs, 1)), times(all_of(specs, 1)));
  EXPECT_NE(times(all_of(specs, 1)), times(all_of(specs, 2)));
}

TEST(Streams, AddingAWorkloadChangesNoDrawOfAnother) {
  const auto a = named("a", synthetic(500, Arrivals::Poisson{5}));
  const auto b = named("b", synthetic(500, Arrivals::Gamma{7, 2}));
  const auto alone = all_of({a});
  std::vector<Taken> together;
  std::uint64_t id = 0;
  for (const Taken& taken : all_of({b, a})) {
    EXPECT_EQ(taken.request.id, id++);  // numbered in stream order
    if (taken.class_name == "a") together.push_back(taken);
  }
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].request.arrival_s, alone[i].request.arrival_s);
    EXPECT_EQ(together[i].request.prompt_tokens, alone[i].request.prompt_tokens);
  }
}

TEST(Streams, TiesGoToTheWorkloadThatStandsFirst) {
  const auto all =
      all_of({named("b", synthetic(2, Arrivals::Constant{1})), named("a", synthetic(2, Arrivals::Constant{1}))});
  std::string order;
  for (const Taken& taken : all) order += taken.class_name;
  EXPECT_EQ(order, "baba");
}

TEST(Streams, ClassAndPriorityComeFromTheWorkload) {
  auto spec = named("a", synthetic(1, Arrivals::AtOnce{}));
  spec.class_name = "chat";
  spec.priority = -4;
  const auto all = all_of({spec});
  EXPECT_EQ(all[0].class_name, "chat");
  EXPECT_EQ(all[0].request.priority, -4);
}

TEST(Streams, PrefixesAreSharedWithinAGroupAndCountInsideThePrompt) {
  auto spec = synthetic(10'000, Arrivals::AtOnce{});
  spec.prompt_tokens = scenario::Uniform{10, 100};
  spec.prefix = scenario::PrefixGroups{5, 64, 0.6};
  std::map<std::uint64_t, std::set<std::uint64_t>> keys;
  std::size_t with = 0;
  for (const Taken& taken : all_of({named("a", spec)})) {
    const Request& request = taken.request;
    if (request.content.empty()) continue;
    ++with;
    ASSERT_EQ(request.content.size(), 1U);
    EXPECT_EQ(request.content[0].end_token, std::min(64U, request.prompt_tokens));
    keys[request.prefix_id].insert(request.content[0].key);
  }
  EXPECT_NEAR(static_cast<double>(with), 6000, 200);
  ASSERT_EQ(keys.size(), 5U);
  std::set<std::uint64_t> all_keys;
  for (const auto& [group, of_group] : keys) {
    EXPECT_EQ(of_group.size(), 1U);
    all_keys.insert(*of_group.begin());
  }
  EXPECT_EQ(all_keys.size(), 5U);
}

TEST(Streams, PrefixesLeaveTheLengthsAlone) {
  auto spec = synthetic(100, Arrivals::AtOnce{});
  const auto without = all_of({named("a", spec)});
  spec.prefix = scenario::PrefixGroups{5, 64, 0.6};
  const auto with = all_of({named("a", spec)});
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(with[i].request.prompt_tokens, without[i].request.prompt_tokens);
}

TEST(Streams, MergedWorkloadsShareNoContent) {
  auto spec = synthetic(50, Arrivals::AtOnce{});
  spec.prefix = scenario::PrefixGroups{2, 8, 1};
  std::map<std::uint64_t, std::set<std::string>> users;
  for (const Taken& taken : all_of({named("a", spec), named("b", spec)}))
    users[taken.request.content[0].key].insert(taken.class_name);
  EXPECT_EQ(users.size(), 4U);
  for (const auto& [key, classes] : users) EXPECT_EQ(classes.size(), 1U);
}

TEST(Streams, InputsAreHashed) {
  const TempFile file("times.txt", "abc");
  const TempFile times_file("times.txt", "1\n");
  const auto source = make_workload({named("a", synthetic(1, Arrivals::Replay{times_file.path()}))}, 1);
  const auto inputs = source->inputs();
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].sha256,
            "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865");  // printf '1\n' | sha256sum
}

}  // namespace
}  // namespace dooly::workload
