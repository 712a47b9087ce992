#include "dooly_process.hpp"

#include "../profiling_comm/fake_setting.hpp"
#include "oracle_store/portable_file.hpp"
#include "test_support/test_data.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <variant>

namespace dooly::cli {
namespace {

constexpr const char* kLlama = "meta-llama/Llama-3.1-8B";

std::set<std::string> samples_of(const std::filesystem::path& path) {
  store::PortableReader reader(path);
  std::set<std::string> samples;
  for (store::Record record; reader.next(record);) {
    const auto* sample = std::get_if<store::SampleRecord>(&record);
    if (sample == nullptr) continue;
    samples.insert(sample->signature.hex() + store::point_text(sample->sample.point) +
                   std::string(store::regime_name(sample->sample.regime)));
  }
  return samples;
}

std::size_t lines_with(const std::string& path, const std::string& what) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.find(what) != std::string::npos ? 1 : 0;
  return count;
}

/// Until the sweep has put so many samples into its file.
void wait_for_samples(const std::string& file, std::size_t count) {
  for (int i = 0; i < 3000 && lines_with(file + ".partial", "\"median_s\"") < count; ++i) ::usleep(10000);
  ASSERT_GE(lines_with(file + ".partial", "\"median_s\""), count);
}

TEST(Profile, ADryRunSaysWhoNeedsWhat) {
  const ProcessResult result = dooly({"model", kLlama, "--backend", "fa3,flashinfer", "--tp", "1,2", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1 + 4 + 2);
  EXPECT_NE(result.out.find("reused"), std::string::npos);
}

TEST(Profile, ADryRunOverManyModelsReusesMostSignatures) {
  std::vector<std::string> words{"model", "--backend", "fa3,flashinfer,triton", "--tp", "1,2,4", "--dry-run"};
  for (const char* name : {"meta-llama--Meta-Llama-3.1-8B", "CohereForAI--c4ai-command-r7b-12-2024", "Qwen--Qwen3-8B",
                           "Qwen--Qwen3-32B"}) {
    const auto path = test::data_path("data/models") / name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
    words.push_back(path.string());
  }
  const ProcessResult result = dooly(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1 + 36 + 2);
}

TEST(Profile, MeasuresAndASecondRunHasNothingToDo) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst");
  const ProcessResult first = dooly({"model", kLlama, "--device", "fast", "--out", file});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("saved"), std::string::npos) << first.out;
  const auto samples = samples_of(file);
  EXPECT_GT(samples.size(), 100u);
  const ProcessResult second = dooly({"model", kLlama, "--device", "fast", "--out", file});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.out.find("0 points measured"), std::string::npos) << second.out;
  EXPECT_EQ(samples_of(file), samples);
  const ProcessResult dry = dooly({"model", kLlama, "--out", file, "--dry-run"});
  EXPECT_NE(dry.out.find(", 0 are to be"), std::string::npos) << dry.out;
}

TEST(Profile, HeldOutPointsAreMeasuredApartAndScored) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst"), apart = scratch.name("held-out-f.jsonl.zst");
  const std::vector<std::string> words{"model", kLlama, "--device", "fast", "--out", file, "--held-out", "5"};
  const ProcessResult first = dooly(words);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("65 held-out points measured"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("dooly profile score " + file + " " + apart), std::string::npos) << first.out;
  const auto held = samples_of(apart), fitted = samples_of(file);
  EXPECT_EQ(held.size(), 65u);
  for (const std::string& each : held) EXPECT_FALSE(fitted.contains(each)) << each;
  const ProcessResult second = dooly(words);
  EXPECT_NE(second.out.find("0 held-out points measured"), std::string::npos) << second.out;
  EXPECT_EQ(samples_of(apart), held);
  const ProcessResult score = dooly({"score", file, apart});
  EXPECT_EQ(score.code, 0) << score.err;
  EXPECT_NE(score.out.find("linear"), std::string::npos) << score.out;
  EXPECT_EQ(score.err.find("another environment"), std::string::npos) << score.err;
}

/// What a run would stumble over at its end, it says at its begin.
TEST(Profile, AHeldOutFileThatCannotBeFilledIsRefusedBeforeTheSweep) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst"), apart = scratch.name("held-out-f.jsonl.zst");
  const auto refused = [&] {
    const ProcessResult result = dooly({"model", kLlama, "--device", "fast", "--out", file, "--held-out", "5"});
    EXPECT_NE(result.code, 0);
    EXPECT_EQ(result.err.rfind(apart, 0), 0u) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
  };
  std::ofstream(apart) << "junk\n";
  refused();
  EXPECT_FALSE(std::filesystem::exists(apart + ".partial"));
  std::filesystem::remove(apart);
  std::filesystem::create_directory(apart);
  refused();
  std::filesystem::remove(apart);
  std::ofstream(apart + ".partial") << "junk\n";
  refused();
  EXPECT_EQ(lines_with(apart + ".partial", "junk"), 1u);
}

TEST(Profile, MaxPointsBoundsHeldOutPointsToo) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst"), apart = scratch.name("held-out-f.jsonl.zst");
  std::vector<std::string> words{"model", kLlama, "--device", "fast", "--out", file};
  ASSERT_EQ(dooly(words).code, 0);
  words.insert(words.end(), {"--held-out", "5", "--max-points", "7"});
  const ProcessResult first = dooly(words);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("The number of points is reached; the same command goes on."), std::string::npos)
      << first.out;
  EXPECT_EQ(samples_of(apart).size(), 7u);
  words.back() = "100";
  EXPECT_EQ(dooly(words).code, 0);
  EXPECT_EQ(samples_of(apart).size(), 65u);
}

TEST(Profile, KilledItLosesAtMostOnePointAndGoesOn) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst");
  {
    DoolyProcess process({"model", kLlama, "--device", "slow", "--out", file});
    wait_for_samples(file, 10);
    process.send(SIGKILL);
    EXPECT_EQ(process.wait().signal, SIGKILL);
  }
  const std::size_t there = lines_with(file + ".partial", "\"median_s\"");
  const ProcessResult rest = dooly({"model", kLlama, "--device", "fast", "--out", file});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_GE(samples_of(file).size(), there + 50);
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
}

TEST(Profile, CtrlCEndsCleanlyAndKeepsWhatWasMeasured) {
  const Scratch scratch;
  const std::string file = scratch.name("f.jsonl.zst");
  DoolyProcess process({"model", kLlama, "--device", "slow", "--out", file});
  wait_for_samples(file, 5);
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.out.find("Interrupted"), std::string::npos);
  EXPECT_GE(samples_of(file).size(), 5u);
}

TEST(Profile, ABudgetEndsIt) {
  const Scratch scratch;
  const ProcessResult result =
      dooly({"model", kLlama, "--device", "slow", "--out", scratch.name("f.jsonl.zst"), "--budget", "300ms"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("budget is spent"), std::string::npos) << result.out;
}

TEST(Trace, PrintsWritesAndJudges) {
  const Scratch scratch;
  const std::string json = scratch.name("trace.json");
  const ProcessResult good = dooly({"trace", "good", "--backend", "fa2", "--device", "cpu", "--json", json});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "traced good for fa2 on cpu\n");
  EXPECT_EQ(lines_with(json, "{}"), 1u);
  const ProcessResult unlabelled = dooly({"trace", "unlabelled"});
  EXPECT_EQ(unlabelled.code, 4);
  EXPECT_NE(unlabelled.err.find("30 dimensions have no label"), std::string::npos) << unlabelled.err;
  EXPECT_NE(unlabelled.err.find("and 10 more"), std::string::npos) << unlabelled.err;
  EXPECT_EQ(dooly({"trace", "contradictory"}).code, 4);
}

TEST(Trace, AFileThatCannotBeWrittenIsRefusedBeforeTheTrace) {
  const Scratch scratch;
  const ProcessResult nowhere = dooly({"trace", "good", "--json", scratch.name("nowhere/trace.json")});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.err, scratch.name("nowhere/trace.json") + ": cannot be written: No such file or directory\n");
  EXPECT_EQ(nowhere.out, "");
  const ProcessResult full = dooly({"trace", "good", "--json", "/dev/full"});
  EXPECT_EQ(full.code, 3);
  EXPECT_EQ(full.err, "/dev/full: cannot write: No space left on device\n");
}

TEST(Trace, LowCoverageFailsUnlessAllowed) {
  const ProcessResult low = dooly({"trace", "low"});
  EXPECT_EQ(low.code, 4);
  EXPECT_NE(low.err.find("coverage is 90.0 %"), std::string::npos) << low.err;
  const ProcessResult allowed = dooly({"trace", "low", "--allow-low-coverage"});
  EXPECT_EQ(allowed.code, 0);
  EXPECT_NE(allowed.err.find("coverage is 90.0 %"), std::string::npos) << allowed.err;
}

struct Mistake {
  std::vector<std::string> words;
  std::string message;
};
TEST(Profile, ARefusedServeLeavesNoFolder) {
  const Scratch scratch;
  const std::string trace = scratch.file("trace.csv",
                                         "# dooly-trace 1\nid,arrival_s,prompt_tokens,output_tokens\n"
                                         "0,0,9,3\n");
  const std::vector<std::string> call{"serve", "model", "--workload", trace, "--num-gpu-blocks-override", "9", "--out"};
  const auto serve_into = [&](const std::string& out) {
    std::vector<std::string> words = call;
    words.push_back(scratch.name(out));
    const ProcessResult result = dooly(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("model: cannot be served"), std::string::npos) << result.err;
  };
  serve_into("new/served");
  EXPECT_FALSE(std::filesystem::exists(scratch / "new"));
  std::filesystem::create_directory(scratch / "mine");
  serve_into("mine");
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "mine"));  // it was there before
}

TEST(Profile, AServeLeavesAnEarlierRunOfThatName) {
  const Scratch scratch;
  const std::string trace = scratch.file("trace.csv",
                                         "# dooly-trace 1\nid,arrival_s,prompt_tokens,output_tokens\n"
                                         "0,0,9,3\n");
  std::filesystem::create_directories(scratch / "out/decisions");
  scratch.file("out/run.requests.jsonl.gz", "");
  scratch.file("out/decisions/old.decisions.jsonl.gz", "");
  std::vector<std::string> call{"serve", "model", "--workload",       trace, "--num-gpu-blocks-override",
                                "9",     "--out", scratch.name("out")};
  const auto err_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), call.begin(), call.end());
    const ProcessResult result = dooly(more);
    EXPECT_EQ(result.code, 2);
    return result.err;
  };
  const std::string there = scratch.name("out") + ": holds results of an earlier run ";
  const std::string remedy = "; --force replaces them, --name adds another\n";
  EXPECT_EQ(err_of({}), there + "(run.requests.jsonl.gz)" + remedy);
  EXPECT_EQ(err_of({"--name", "old"}), there + "(decisions/old.decisions.jsonl.gz)" + remedy);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--force"}, {"--name", "new"}})
    EXPECT_NE(err_of(more).find("model: cannot be served"), std::string::npos);
}

TEST(Profile, TwoServesOfOneNameDoNotWriteTogether) {
  const Scratch scratch;
  const std::string trace = scratch.file("trace.csv",
                                         "# dooly-trace 1\nid,arrival_s,prompt_tokens,output_tokens\n"
                                         "0,0,9,3\n");
  const std::string out = scratch.name("out");
  std::filesystem::create_directories(out);
  const int lock = ::open((out + "/.run.dooly-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const std::vector<std::string> call{"serve", "model", "--workload", trace,    "--num-gpu-blocks-override",
                                      "9",     "--out", out,          "--force"};
  EXPECT_EQ(dooly(call).err, out + ": another run of that name is writing there\n");
  ::close(lock);
  EXPECT_NE(dooly(call).err.find("model: cannot be served"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(out)) << "the lock goes with its run";
}

TEST(Profile, WithoutAGpuADryRunPlansAndTheRestSaysSo) {
  const profiling::FakeSetting none("FAKE_GPUS", "0");
  EXPECT_EQ(dooly({"model", kLlama, "--dry-run"}).code, 0);
  EXPECT_EQ(dooly({"trace", kLlama}).code, 0);  // shapes alone
  const Scratch scratch;
  EXPECT_EQ(
      dooly({"model", kLlama, "--device", "fast", "--max-points", "1", "--out", scratch.name("f.jsonl.zst")}).code, 0);
  const ProcessResult result = dooly({"model", kLlama});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.err.starts_with("no NVIDIA GPU found: NVIDIA's driver shows none")) << result.err;
}

class ProfileMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(ProfileMistakes, AreRefusedBeforeAnythingStarts) {
  const ProcessResult result = dooly(GetParam().words);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Each, ProfileMistakes,
    testing::Values(
        Mistake{{}, "dooly profile: needs a command; allowed: model, comm, trace"},
        Mistake{{"model"}, "dooly profile model: needs CONFIG"},
        Mistake{{"model", kLlama}, "where to: needs --store DIR, or --out FILE.jsonl.zst"},
        Mistake{{"model", kLlama, "--out", "f.jsonl.zst", "--device", "slwo"},
                "--device: unknown device, got 'slwo'; did you mean 'slow'; allowed: fast, slow"},
        Mistake{{"model", kLlama, "--out", "f.jsonl.zst", "--backend", "fa9"},
                "--backend: unknown back end, got 'fa9'"},
        Mistake{{"model", kLlama, "--out", "f.jsonl.zst", "--device", "fast", "--target", "3"},
                "--target: must be a percentage"},
        Mistake{{"model", kLlama, "--out", "x.txt", "--device", "fast"},
                "--out: must be a file NAME.jsonl.zst, got 'x.txt'"},
        Mistake{{"model", kLlama, "--out", ".jsonl.zst", "--dry-run"}, "--out: must be a file NAME.jsonl.zst"},
        Mistake{{"model", kLlama, "--out", "f.jsonl.zst", "--device", "fast", "--kernels", "/nope"},
                "--kernels: no such folder, got '/nope'"},
        Mistake{{"model", kLlama, "--dry-run", "--device", "cpu", "--kernels", "/nope"},
                "--kernels: the engine's libraries run on --device cuda alone, got '/nope' with --device cpu"},
        Mistake{{"trace", kLlama, "--kernels", "/nope"}, "run on --device cuda alone"},
        Mistake{{"model", "no/such-model", "--dry-run"}, "no/such-model"},
        Mistake{{"trace", "x", "--backend", "fa9"}, "--backend: unknown back end, got 'fa9'"},
        Mistake{{"trace", "x", "--backend", "flashmla"},
                "--backend: unknown back end, got 'flashmla'; allowed: fa3, fa2, triton, flashinfer, torch\n"},
        Mistake{{"model", kLlama, "--backend", "fa4", "--dry-run"}, "--backend: unknown back end, got 'fa4'"},
        Mistake{
            {"serve", "x", "--workload", "w.csv", "--out", "o", "--num-gpu-blocks-override", "9", "--backend", "fa4"},
            "--backend: unknown back end, got 'fa4'"},
        Mistake{{"serve", "x", "--workload", "w.csv", "--out", "o", "--num-gpu-blocks-override", "9", "--name", "../x"},
                "--name: must be the beginning of file names in --out, got '../x'"},
        Mistake{{"trace", "x", "--tp", "0"}, "--tp"}, Mistake{{"trace", "x", "--ablate", "all"}, "--ablate"}));

}  // namespace
}  // namespace dooly::cli
