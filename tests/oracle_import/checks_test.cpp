#include "profile_folder.hpp"
#include "sample_collector.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/physical_limit.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include <cmath>

namespace dooly::import_ {
namespace {

const oracle::LinearTypes kBf16{"bfloat16", "bfloat16", "bfloat16"};

class Checks : public ::testing::Test {
 protected:
  void SetUp() override {
    collector.begin_file("t.csv");
    oracle::Environment environment;
    environment.gpu = "H200-SXM";
    collector.environment(environment);
    key = collector.key(oracle::linear_key(kBf16, 4096, 4096));
  }
  void add(std::uint64_t rows, double us, std::uint32_t count = 1) {
    collector.line(++line);
    collector.add(key, rows_point(rows), single(us * 1e-6, count));
  }
  ImportReport report;
  SampleCollector collector{report};
  SampleCollector::Key key{};
  test::MemorySamples out;
  std::uint64_t line = 1;
};

TEST_F(Checks, ZeroNegativeAndNanAreDroppedWithExamples) {
  add(1, 0), add(2, -3), add(4, std::nan("")), add(8, 10);
  collector.finish(out);
  EXPECT_EQ(out.count, 1u);
  EXPECT_EQ(report.findings.at("zero").count, 1u);
  EXPECT_EQ(report.findings.at("zero").examples.at(0), "t.csv:2: (1)");
  EXPECT_TRUE(report.findings.at("negative").dropped);
  EXPECT_EQ(report.findings.at("not finite").count, 1u);
  EXPECT_EQ(report.rows, 4u);
}

TEST_F(Checks, TimesOfMoreThanADayAreDropped) {
  add(1, 1e300), add(2, 86401e6), add(4, 86399e6);
  collector.finish(out);
  EXPECT_EQ(out.count, 1u);
  EXPECT_EQ(report.findings.at("longer than a day").count, 2u);
  EXPECT_TRUE(report.findings.at("longer than a day").dropped);
}

TEST_F(Checks, AnUnknownNumberFormatIsReportedAndNeverStored) {
  const SampleCollector::Key known = key;
  for (const char* dtype : {"garbage", "", "BFLOAT16"}) {
    key = collector.key(oracle::linear_key({"bfloat16", dtype, "bfloat16"}, 4096, 4096));
    add(8, 10);
  }
  key = known;
  add(8, 10);
  collector.finish(out);
  EXPECT_EQ(out.count, 1u);
  const Finding& found = report.findings.at("unknown number format");
  EXPECT_TRUE(found.dropped);
  EXPECT_EQ(found.count, 3u);
  EXPECT_EQ(found.examples, (std::vector<std::string>{"t.csv:2: garbage", "t.csv:3: (empty)", "t.csv:4: BFLOAT16"}));
}

TEST_F(Checks, RepetitionsOfAPointAreMerged) {
  add(8, 10, 3), add(8, 12, 3), add(8, 12, 3), add(8, 11, 6);
  collector.finish(out);
  const auto samples = out.by_signature.begin()->second.second;
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_DOUBLE_EQ(samples[0].median_s, 11e-6);
  EXPECT_DOUBLE_EQ(samples[0].mean_s, 11e-6);  // (3·10 + 3·12 + 6·11) / 12
  EXPECT_EQ(samples[0].count, 12u);            // the row told twice counts once
  EXPECT_NEAR(samples[0].std_s, std::sqrt(0.5) * 1e-6, 1e-12);
  EXPECT_EQ(report.findings.at("figures repeated at one point (one kept)").count, 1u);
}

TEST_F(Checks, RepetitionsThatDisagreeAreSuspect) {
  add(8, 10), add(8, 40);
  collector.finish(out);
  EXPECT_EQ(report.suspects, 1u);
  EXPECT_EQ(out.by_signature.begin()->second.second[0].status, oracle::SampleStatus::kSuspect);
}

TEST_F(Checks, APointOutOfLineWithBothNeighboursIsSuspect) {
  add(1, 10), add(2, 10), add(3, 35), add(4, 11), add(5, 3), add(6, 11);
  collector.finish(out);
  EXPECT_EQ(report.findings.at("out of line with its neighbours").count, 2u);
  const auto& samples = out.by_signature.begin()->second.second;
  EXPECT_EQ(samples[2].status, oracle::SampleStatus::kSuspect);
  EXPECT_EQ(samples[4].status, oracle::SampleStatus::kSuspect);
  EXPECT_EQ(samples[1].status, oracle::SampleStatus::kOk);
}

TEST_F(Checks, AStaircaseIsNotOutOfLine) {
  add(1, 10), add(2, 10), add(3, 40), add(4, 40), add(5, 160);
  collector.finish(out);
  EXPECT_EQ(report.suspects, 0u);
}

TEST_F(Checks, FasterThanTheDeviceIsSuspect) {
  add(8192, 200);  // 2·8192·4096² FLOPs at 989 TFLOP/s take 278 us
  add(16384, 700);
  collector.finish(out);
  EXPECT_EQ(report.findings.at("faster than the device can be").count, 1u);
  EXPECT_EQ(report.suspects, 1u);
}

TEST(PhysicalLimit, CountsBytesBeyondTheLastLevelCacheAlone) {
  const oracle::Gpu& gpu = oracle::find_gpu("H200");
  const auto big = oracle::linear_key(kBf16, 8192, 65536);
  EXPECT_NEAR(*oracle::physical_limit_s(big, {1}, gpu),
              (8192.0 * 65536 * 2 + 8192 * 2 + 65536 * 2 - 128 * 1024 * 1024) / 4800e9, 1e-9);
  EXPECT_LT(*oracle::physical_limit_s(oracle::linear_key(kBf16, 512, 512), {1}, gpu), 1e-8);
}

TEST(PhysicalLimit, OfAttentionCountsCausalPairsAndTheLongDecodes) {
  const oracle::Gpu& gpu = oracle::find_gpu("H200");
  const auto key = oracle::attention_key("bfloat16", "bfloat16", {.heads = 32, .kv_heads = 8, .head_dim = 128}, "fa3");
  const double pairs = 8192.0 * 8193 / 2;
  EXPECT_NEAR(*oracle::physical_limit_s(key, {1, 8192, 0}, gpu), 4 * 32 * 128 * pairs / 989e12, 1e-9);
  const double tokens = 63 * 4097.0 + 65537.0;
  const double bytes = 2 * 8 * 128 * 2 * tokens + 2 * 32 * 128 * 2 * 64.0 - 128.0 * 1024 * 1024;
  EXPECT_NEAR(*oracle::physical_limit_s(key, {0, 0, 0, 64, 4096, 1, 65536}, gpu), bytes / 4800e9, 1e-9);
}

TEST(PhysicalLimit, OfACollectiveIsWhatARankReceives) {
  const oracle::Gpu& gpu = oracle::find_gpu("H200");
  EXPECT_NEAR(*oracle::physical_limit_s(oracle::collective_key("all_reduce", "bfloat16", 8), {1 << 30, 8}, gpu),
              0.875 * (1 << 30) / 450e9, 1e-9);
  EXPECT_NEAR(*oracle::physical_limit_s(oracle::collective_key("all_gather", "bfloat16", 8), {1 << 20, 8}, gpu),
              7.0 * (1 << 20) / 450e9, 1e-9);
}

TEST(PhysicalLimit, OfAKeyWithoutWhatItsWorkIsMadeOfIsRefused) {
  oracle::OperatorKey key = oracle::rms_norm_key("bfloat16", 4096, false, "vllm");
  EXPECT_EQ(oracle::work_fault(key), "");
  key.dims.clear();
  EXPECT_EQ(oracle::work_fault(key), "rms_norm must have 1 dims at least, has 0");
  EXPECT_THROW(oracle::physical_work(key, {1}), oracle::OracleError);
  for (const auto& [kind, dims, dtypes] : {std::tuple{"linear", 2u, 3u},
                                           {"bmm", 3u, 2u},
                                           {"attention", 3u, 2u},
                                           {"mla_attention", 5u, 2u},
                                           {"moe_experts", 4u, 2u},
                                           {"qk_norm", 3u, 1u},
                                           {"rope", 3u, 1u},
                                           {"rms_norm", 1u, 1u},
                                           {"add", 1u, 1u}}) {
    oracle::OperatorKey whole;
    whole.kind = kind;
    whole.dims.assign(dims, 64);
    whole.dtypes.assign(dtypes, "bfloat16");
    EXPECT_TRUE(oracle::physical_work(whole, {1}).has_value()) << kind;
    oracle::OperatorKey less = whole;
    less.dims.pop_back();
    EXPECT_THROW(oracle::physical_work(less, {1}), oracle::OracleError) << kind;
    less = whole;
    less.dtypes.pop_back();
    EXPECT_THROW(oracle::physical_limit_s(less, {1}, oracle::find_gpu("H200")), oracle::OracleError) << kind;
  }
  oracle::OperatorKey unknown;
  unknown.kind = "of no rule";
  EXPECT_EQ(oracle::work_fault(unknown), "");
}

}  // namespace
}  // namespace dooly::import_
