#include "dooly_process.hpp"
#include "fake_setting.hpp"
#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <variant>

namespace dooly::cli {
namespace {

using profiling::FakeSetting;

/// Samples by status.
std::map<oracle::SampleStatus, int> samples_of(const std::string& file) {
  store::PortableReader reader(file);
  std::map<oracle::SampleStatus, int> samples;
  for (store::Record record; reader.next(record);)
    if (const auto* sample = std::get_if<store::SampleRecord>(&record)) ++samples[sample->sample.status];
  return samples;
}

std::size_t samples_in_progress(const std::string& file) {
  std::ifstream partial(file + ".partial");
  std::size_t count = 0;
  for (std::string line; std::getline(partial, line);) count += line.find("\"median_s\"") != std::string::npos ? 1 : 0;
  return count;
}

void wait_for_samples(const std::string& file, std::size_t count) {
  for (int i = 0; i < 3000 && samples_in_progress(file) < count; ++i) ::usleep(10000);
  ASSERT_GE(samples_in_progress(file), count);
}

const std::vector<std::string> kSmall{"comm",    "--ranks",   "2,3", "--collectives", "all_reduce,all_to_all",
                                      "--bytes", "1KiB..1MiB"};

std::vector<std::string> small(const std::string& file) {
  std::vector<std::string> words = kSmall;
  words.insert(words.end(), {"--out", file});
  return words;
}

TEST(ProfileComm, MeasuresAndASecondRunHasNothingToDo) {
  const Scratch scratch;
  const std::string file = scratch.name("c.jsonl.zst");
  const ProcessResult first = dooly(small(file));
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("4 GPUs H200-SXM, all nvlink4x18 via nvswitch, multicast off, NCCL 2.28.9"),
            std::string::npos)
      << first.err;
  EXPECT_NE(first.out.find("all_to_all bfloat16 on 3"), std::string::npos) << first.out;
  const auto samples = samples_of(file);
  EXPECT_GE(samples.at(oracle::SampleStatus::kOk), 4 * 11 * 2);
  const ProcessResult second = dooly(small(file));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.out.find("\n0 points measured"), std::string::npos) << second.out;
  EXPECT_EQ(samples_of(file), samples);
}

TEST(ProfileComm, WithoutRanksItTakesTwoFourAndAll) {
  const FakeSetting gpus("FAKE_GPUS", "6");
  const Scratch scratch;
  const ProcessResult result =
      dooly({"comm", "--collectives", "send_recv", "--bytes", "1KiB..2KiB", "--out", scratch.name("c.jsonl.zst")});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* title : {"on 2 ", "on 4 ", "on 6 "}) EXPECT_NE(result.out.find(title), std::string::npos) << title;
  EXPECT_EQ(result.out.find("on 3 "), std::string::npos);
}

TEST(ProfileComm, ACrashCostsOnePointAndItGoesOn) {
  const FakeSetting crash("FAKE_CRASH", "8192:1");
  const Scratch scratch;
  const std::string file = scratch.name("c.jsonl.zst");
  const ProcessResult result = dooly(small(file));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(
      result.err.find("all_reduce bfloat16 on 2, 8KiB, back to back: launch_failed, rank 1: was killed by signal 6"),
      std::string::npos)
      << result.err;
  const auto samples = samples_of(file);
  EXPECT_EQ(samples.at(oracle::SampleStatus::kLaunchFailed), 3);  // 8,192 does not divide by three: all_to_all on 2
}

TEST(ProfileComm, CtrlCEndsCleanlyAndKeepsWhatWasMeasured) {
  const FakeSetting slow("FAKE_WAIT_US", "500");
  const Scratch scratch;
  const std::string file = scratch.name("c.jsonl.zst");
  DoolyProcess process(small(file));
  wait_for_samples(file, 4);
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.out.find("Interrupted; the same command goes on"), std::string::npos) << result.out;
  EXPECT_GE(samples_of(file).at(oracle::SampleStatus::kOk), 4);
}

TEST(ProfileComm, KilledItGoesOn) {
  const Scratch scratch;
  const std::string file = scratch.name("c.jsonl.zst");
  {
    const FakeSetting slow("FAKE_WAIT_US", "500");
    DoolyProcess process(small(file));
    wait_for_samples(file, 4);
    process.send(SIGKILL);
    EXPECT_EQ(process.wait().signal, SIGKILL);
  }
  EXPECT_EQ(dooly(small(file)).code, 0);
  EXPECT_GE(samples_of(file).at(oracle::SampleStatus::kOk), 4 * 11 * 2);
}

TEST(ProfileComm, ABudgetEndsIt) {
  const FakeSetting slow("FAKE_WAIT_US", "500");
  const Scratch scratch;
  auto words = small(scratch.name("c.jsonl.zst"));
  words.insert(words.end(), {"--budget", "300ms"});
  const ProcessResult result = dooly(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("The budget is spent"), std::string::npos) << result.out;
}

struct Mistake {
  std::vector<std::string> words;
  std::string message;
};
class CommMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(CommMistakes, AreRefused) {
  const ProcessResult result = dooly(GetParam().words);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Each, CommMistakes,
    testing::Values(
        Mistake{{"comm"}, "where to: needs one of --store DIR and --out FILE.jsonl.zst"},
        Mistake{{"comm", "--out", "f.zst"}, "--out: must be a file NAME.jsonl.zst, got 'f.zst'"},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--collectives", "all_reduse"},
                "--collectives: unknown collective, got 'all_reduse'; did you mean 'all_reduce'"},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--dtypes", "int4"},
                "--dtypes: unknown type, got 'int4'; did you mean 'int8'; allowed: bfloat16, "},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--bytes", "1GiB..256"}, "--bytes: must be a size from 16B to 64GiB"},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--bytes", "1GiB..1KiB"}, "--bytes: the smaller size comes first"},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--ranks", "1"}, "--ranks: must be a whole number from 2"},
        Mistake{{"comm", "--out", "f.jsonl.zst", "--ranks", "2,8"}, "--ranks: 8 are more than the 4 GPUs here"}));

}  // namespace
}  // namespace dooly::cli
