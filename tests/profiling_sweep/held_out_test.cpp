#include "profiling_sweep/held_out.hpp"

#include "held_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace dooly::profiling {
namespace {

std::vector<oracle::SamplePoint> drawn(const Operation& operation, const SweepLimits& limits, std::size_t count) {
  HeldOutDraw draw(operation, limits);
  std::vector<oracle::SamplePoint> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back(draw.next());
  return points;
}

void expect_within(const oracle::SamplePoint& p, const SweepLimits& limits) {
  EXPECT_GE(p[0] + p[3], 1u);
  EXPECT_LE(p[0] * p[1] + p[3], limits.max_batched_tokens);
  EXPECT_LE(p[0] + p[3], limits.max_sequences);
  for (const std::uint64_t length : {p[1] + p[2], p[4] + 1, p[6] + 1}) EXPECT_LE(length, limits.max_context);
  EXPECT_LE((p[3] - p[5]) * p[4] + p[5] * p[6], limits.max_kv_tokens);
  EXPECT_LE(2 * p[5], p[3]);
  EXPECT_TRUE(p[3] == 0 || p[4] > 0);
}

TEST(HeldOutDraw, IsTheSameForASignatureAndWithinTheLimits) {
  for (const SweepLimits& limits : {SweepLimits{}, SweepLimits{128, 16, 512, 3200}, SweepLimits{16, 16, 16, 16}}) {
    for (const Operation& operation : {attention(), attention(4096), linear(4096, 6144), norm(4096), experts()}) {
      const auto points = drawn(operation, limits, 400);
      EXPECT_EQ(points, drawn(operation, limits, 400));
      for (const oracle::SamplePoint& point : points) {
        if (operation.binding == oracle::Binding::kAttention) {
          expect_within(point, limits);
        } else {
          EXPECT_GE(point[0], 1u);
          EXPECT_LE(point[0], limits.max_batched_tokens);
        }
      }
    }
  }
  EXPECT_NE(drawn(linear(4096, 6144), {}, 8), drawn(linear(4096, 4096), {}, 8));
}

TEST(HeldOutDraw, HasEveryPartOfAttention) {
  std::size_t decodes = 0, prefill = 0, mixed = 0, ragged = 0;
  for (const oracle::SamplePoint& p : drawn(attention(), {}, 130))
    ++(p[5] > 0 ? ragged : p[0] == 0 ? decodes : p[3] > 0 ? mixed : prefill);
  EXPECT_EQ(decodes, 40u);
  EXPECT_EQ(prefill, 40u);
  EXPECT_EQ(mixed, 30u);
  EXPECT_EQ(ragged, 20u);
  for (const oracle::SamplePoint& p : drawn(attention(0, "flashmla"), {}, 130))
    EXPECT_FALSE(p[0] > 0 && p[3] > 0) << "of kernels that do not run both in one launch";
}

class HeldOutMeasuring : public ::testing::Test {
 protected:
  HeldOutMeasuring() {
    settings.now = [this] { return device.now(); };
    settings.refine.both_regimes = true;
    Sweep(device, fit, settings).run(operations);
    fitted = measured_in(fit, operations, device.environment());
  }
  HeldOutReport run(std::size_t count) {
    return measure_held_out(device, held_out, operations, fitted, count, settings);
  }
  SyntheticMeasurer device;
  MemoryArchive fit, held_out;
  SweepSettings settings;
  const std::vector<Operation> operations{linear(4096, 6144), attention(), experts()};
  SamplesBySignature fitted;
};

TEST_F(HeldOutMeasuring, NothingOfTheFitIsMeasuredAndNothingGetsIntoIt) {
  const HeldOutReport report = run(20);
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  EXPECT_EQ(report.points, 60u);
  EXPECT_EQ(report.signatures, 3u);
  EXPECT_GT(report.spent_s, 0);
  for (const oracle::SampleSet& set : held_out.measured()) {
    EXPECT_EQ(set.samples.size(), 20u);
    for (const oracle::Sample& sample : set.samples) {
      EXPECT_EQ(sample.regime, oracle::ClockRegime::kCool);
      const auto& basis = fitted.at(set.signature);
      EXPECT_TRUE(std::none_of(basis.begin(), basis.end(),
                               [&](const oracle::Sample& each) { return each.point == sample.point; }));
    }
  }
  EXPECT_EQ(measured_in(fit, operations, device.environment()), fitted);
}

TEST_F(HeldOutMeasuring, GoesOnWhereItEnded) {
  settings.budget_s = 0.3;  // a point costs 20 ms and more
  const HeldOutReport first = run(20);
  EXPECT_EQ(first.end, SweepReport::End::kBudget);
  EXPECT_LT(first.points, 20u);
  settings.budget_s = 0;
  const HeldOutReport rest = run(20);
  EXPECT_EQ(first.points + rest.points, 60u);
  EXPECT_EQ(run(20).points, 0u);
  EXPECT_EQ(run(22).points, 6u);

  MemoryArchive at_once;
  std::swap(at_once, held_out);
  run(22);
  const auto points = [](const MemoryArchive& archive) {
    std::set<std::pair<oracle::Signature, oracle::SamplePoint>> all;
    for (const oracle::SampleSet& set : archive.measured())
      for (const oracle::Sample& sample : set.samples) all.emplace(set.signature, sample.point);
    return all;
  };
  EXPECT_EQ(points(held_out), points(at_once));
}

TEST_F(HeldOutMeasuring, WhatHasNoFitHasNoPointsAndSmallRangesEnd) {
  fitted.erase(operations[0].signature);
  settings.refine.limits = {4, 4, 64, 4096};
  const HeldOutReport report = run(20);
  EXPECT_EQ(report.end, SweepReport::End::kDone);
  for (const oracle::SampleSet& set : held_out.measured()) EXPECT_NE(set.signature, operations[0].signature);
}

TEST_F(HeldOutMeasuring, ShortPointsAreMeansOverThreeProcessesToo) {
  const std::vector<Operation> one{norm(4096)};
  Sweep(device, fit, settings).run(one);
  fitted = measured_in(fit, one, device.environment());
  device.processes = {0, 0.3e-6, 0.15e-6};
  EXPECT_EQ(measure_held_out(device, held_out, one, fitted, 20, settings).points, 20u);
  std::size_t averaged = 0;
  const std::vector<oracle::Sample> samples = held_out.measured().at(0).samples;
  for (const oracle::Sample& sample : samples) averaged += sample.processes == 3;
  EXPECT_GE(averaged, 5u);
}

TEST_F(HeldOutMeasuring, FailuresAreKeptAndCount) {
  device.before = [](const oracle::OperatorKey&, oracle::Sample& sample) {
    sample.status = oracle::SampleStatus::kLaunchFailed;
  };
  const HeldOutReport report = run(2);
  EXPECT_EQ(report.points, 0u);
  EXPECT_GT(report.failed, 0u);
  device.before = {};
}

}  // namespace
}  // namespace dooly::profiling
