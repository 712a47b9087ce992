#include "dooly_process.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Usage, HelpNamesEveryVerbAndTheFirstSteps) {
  const ProcessResult help = dooly({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* verb : {"run", "init", "check", "explain", "schema", "list", "workload", "new", "study", "report",
                           "plan", "predict", "serve-oracle", "store", "profile", "validate"})
    EXPECT_TRUE(has(help.out, std::string("\n  ") + verb + " ")) << verb;
  EXPECT_TRUE(has(help.out, "dooly run mine.yaml --out results"));
  EXPECT_TRUE(has(help.out, "130 interrupted"));
}

TEST(Usage, WithoutAVerbHelpIsShown) { EXPECT_EQ(dooly({}).out, dooly({"--help"}).out); }

TEST(Usage, EveryVerbHasHelpWithUsageAndExamples) {
  for (const char* verb : {"run", "init", "check", "explain", "schema", "list"}) {
    const ProcessResult help = dooly({verb, "--help"});
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_TRUE(has(help.out, std::string("Usage: dooly ") + verb)) << verb;
    EXPECT_TRUE(has(help.out, "Examples:\n  dooly " + std::string(verb))) << verb;
    EXPECT_EQ(dooly({"help", verb}).out, help.out);
  }
  for (const char* command : {"stats", "convert", "export"}) {
    const ProcessResult help = dooly({"workload", command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_TRUE(has(help.out, "Examples:\n  dooly workload " + std::string(command))) << command;
  }
  EXPECT_TRUE(has(dooly({"new", "policy", "--help"}).out, "dooly new policy shortest-first"));
  EXPECT_TRUE(has(dooly({"new", "router", "--help"}).out, "dooly new router fewest-first"));
}

TEST(Usage, HelpLinesFitATerminal) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"list", "--help"}, {"workload", "convert", "--help"}}) {
    const std::string text = dooly(line).out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 120u) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(Usage, VersionIsOneLine) {
  const ProcessResult version = dooly({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.substr(0, 6), "dooly ");
  EXPECT_EQ(version.out.find('\n'), version.out.size() - 1);
  EXPECT_EQ(dooly({"run", "--version"}).out, version.out);
}

TEST(Usage, AFileMayBeCalledAsAVerbIs) {
  const Scratch scratch;
  scratch.file("run", small_scenario());
  EXPECT_EQ(dooly({"check", "run"}, {.directory = scratch.path()}).out, "run: ok\n");
}

struct Mistake {
  std::vector<std::string> line;
  std::string err;
};
class UsageMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(UsageMistakes, SaysWhatIsAllowedAndStartsNothing) {
  const ProcessResult result = dooly(GetParam().line);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, GetParam().err + "\n");
}

const std::string kRunOptions =
    "allowed: --out, --force, --set, --seed, --format, --export, --quiet, --no-color, --log-level, --help, --version; "
    "see 'dooly run --help'";

INSTANTIATE_TEST_SUITE_P(
    Each, UsageMistakes,
    testing::Values(
        Mistake{{"rnu"},
                "dooly: unknown verb, got 'rnu'; did you mean 'run'; allowed: run, init, check, explain, list, schema, "
                "workload, new, plan, predict, serve-oracle, store, profile, validate, study, report; see 'dooly "
                "--help'"},
        Mistake{{"run", "x.yaml", "--frce"},
                "dooly run: unknown option, got '--frce'; did you mean '--force'; " + kRunOptions},
        Mistake{{"run", "x.yaml", "-x"}, "dooly run: unknown option, got '-x'; " + kRunOptions},
        Mistake{{"run"}, "dooly run: needs SCENARIO.yaml; see 'dooly run --help'"},
        Mistake{{"run", "a.yaml", "b.yaml"}, "dooly run: unexpected argument, got 'b.yaml'; see 'dooly run --help'"},
        Mistake{{"run", "a.yaml", "--out"}, "dooly run: --out: needs a value, DIR; see 'dooly run --help'"},
        Mistake{{"run", "a.yaml", "--out", ""}, "dooly run: --out: needs a value, DIR, got ''; see 'dooly run --help'"},
        Mistake{{"run", "a.yaml", "--export="}, "dooly run: --export: needs a value, FILE; see 'dooly run --help'"},
        Mistake{{"init", "--out", ""}, "dooly init: --out: needs a value, FILE, got ''; see 'dooly init --help'"},
        Mistake{{"validate", "a.yaml", "--out", ""},
                "dooly validate: --out: needs a value, DIR, got ''; see 'dooly validate --help'"},
        Mistake{{"new", "policy", "mine", "--out", ""},
                "dooly new policy: --out: needs a value, DIR, got ''; see 'dooly new policy --help'"},
        Mistake{{"store", "merge", "all", "a", ""}, "dooly store merge: needs STORE; see 'dooly store merge --help'"},
        Mistake{{"predict", "--plan", "p", "--store", ""},
                "dooly predict: --store: needs a value, S, got ''; see 'dooly predict --help'"},
        Mistake{{"run", "a.yaml", "--seed", "1", "--seed", "2"},
                "dooly run: --seed: may be given once, got it 2 times; see 'dooly run --help'"},
        Mistake{{"run", "a.yaml", "--format", "xml"},
                "dooly run: --format: unknown value, got 'xml'; allowed: text, json"},
        Mistake{
            {"run", "a.yaml", "--log-level", "warn"},
            "dooly run: --log-level: unknown value, got 'warn'; did you mean 'warning'; allowed: error, warning, info, "
            "debug"},
        Mistake{{"check"}, "dooly check: needs SCENARIO.yaml; see 'dooly check --help'"},
        Mistake{{"list"},
                "dooly list: needs KIND; allowed: policies, routers, oracles, formats, gpus, models, platforms, "
                "host-times; see "
                "'dooly list --help'"},
        Mistake{{"list", "modles"},
                "dooly list: KIND: unknown value, got 'modles'; did you mean 'models'; allowed: policies, routers, "
                "oracles, formats, gpus, models, platforms, host-times"},
        Mistake{{"workload"},
                "dooly workload: needs a command; allowed: stats, convert, export; see 'dooly workload --help'"},
        Mistake{{"workload", "stat", "x"},
                "dooly workload: unknown command, got 'stat'; did you mean 'stats'; allowed: stats, convert, export; "
                "see 'dooly workload --help'"},
        Mistake{{"schema", "study"}, "dooly schema study: not built yet in this version"}));

TEST(Usage, VerbsOfLaterVersionsSaySoWhateverFollows) {
  for (const char* verb : {"study", "report"}) {
    const ProcessResult result = dooly({verb, "something", "--jobs", "3"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, std::string("dooly ") + verb + ": not built yet in this version\n");
    EXPECT_EQ(dooly({verb, "--help"}).code, 0);
  }
}

/// What needs a GPU says first that there is none, and what to do; files and folders are not looked for.
TEST(Usage, ProfileWithoutAGpuSaysSoBeforeAnythingElse) {
  if (::dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "this machine has NVIDIA's driver";
  const std::string none = "no NVIDIA GPU found: NVIDIA's driver is not installed (libcuda.so.1 cannot be loaded); ";
  const Scratch scratch;
  const std::string file = scratch.name("samples.jsonl.zst"), nowhere = scratch.name("nowhere");
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{"comm", "--out", file}, "run this on a machine with two or more"},
      {{"model", "meta-llama/Llama-3.1-8B", "--out", file},
       "run this on a machine with one, measure the processor (--device cpu --backend torch), or only plan "
       "(--dry-run)"},
      {{"model", "meta-llama/Llama-3.1-8B", "--out", file, "--kernels", nowhere}, "run this on a machine with one, "},
      {{"trace", nowhere, "--device", "cuda", "--kernels", nowhere},
       "run this on a machine with one, or take --device meta (shapes alone) or cpu"},
      {{"serve", nowhere, "--device", "cuda", "--workload", nowhere, "--num-gpu-blocks-override", "9", "--out",
        nowhere},
       "run this on a machine with one, or take --device cpu with a model that a processor can run"},
      {{"step", nowhere}, "captured steps run there alone: run this on a machine with one"}};
  for (const auto& [words, what_to_do] : calls) {
    std::vector<std::string> call{"profile"};
    call.insert(call.end(), words.begin(), words.end());
    const ProcessResult result = dooly(call);
    EXPECT_EQ(result.code, 2) << words.front();
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with(none + what_to_do)) << words.front() << ": " << result.err;
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Usage, ProfileStartsTheProgramBesideIt) {
  const ProcessResult help = dooly({"profile", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("dooly profile"), std::string::npos);
  EXPECT_EQ(dooly({"help", "profile"}).out, help.out);
  const ProcessResult plan = dooly({"--quiet", "profile", "model", "meta-llama/Llama-3.1-8B", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("signatures"), std::string::npos);
  const ProcessResult mistake = dooly({"--log-level", "error", "profile", "modle"});
  EXPECT_EQ(mistake.code, 2);
  EXPECT_NE(mistake.err.find("dooly profile: unknown command, got 'modle'; did you mean 'model'"), std::string::npos)
      << mistake.err;
}

TEST(Usage, GlobalOptionsStandBeforeOrBehindTheVerb) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  EXPECT_EQ(dooly({"--quiet", "run", scenario}).err, "");
  EXPECT_EQ(dooly({"run", scenario, "--quiet"}).err, "");
}

TEST(Usage, AResultThatDoesNotGetOutIsAFailure) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--help"},
                                               {"list", "gpus"},
                                               {"init"},
                                               {"schema", "scenario"},
                                               {"run", scenario, "--quiet"}}) {
    const ProcessResult result = dooly(line, {.out = "/dev/full"});
    EXPECT_EQ(result.code, 3) << line.front();
    EXPECT_EQ(result.err, "standard output: cannot write: No space left on device\n");
  }
}

}  // namespace
}  // namespace dooly::cli
