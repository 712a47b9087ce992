#include "dooly_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

TEST(Init, WritesAScenarioThatRuns) {
  const Scratch scratch;
  const ProcessResult text = dooly({"init"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out.front(), '#') << "not commented";
  const std::string file = scratch.file("mine.yaml", text.out);
  EXPECT_EQ(dooly({"check", file}).code, 0);
  EXPECT_EQ(dooly({"run", file, "--quiet"}).code, 0);
}

TEST(Init, TranslatesAVllmCommandLine) {
  const Scratch scratch;
  const ProcessResult text =
      dooly({"init", "--from", "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 --max-num-seqs=256"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("tp: 2\n"), std::string::npos);
  EXPECT_NE(text.out.find("max_num_seqs: 256\n"), std::string::npos);
  EXPECT_EQ(dooly({"check", scratch.file("mine.yaml", text.out)}).code, 0);
}

TEST(Init, WhatItWritesFitsTheContext) {
  const Scratch scratch;
  for (const char* command :
       {"vllm serve meta-llama/Llama-3.1-8B --max-model-len 2048", "vllm serve facebook/opt-13b"}) {
    const ProcessResult text = dooly({"init", "--from", command});
    ASSERT_EQ(text.code, 0) << text.err;
    const ProcessResult run =
        dooly({"run", scratch.file("mine.yaml", text.out), "--quiet", "--format", "json", "--seed", "3"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out).at("requests").at("rejected"), 0) << command;
  }
}

TEST(Init, AnUnknownModelIsNamed) {
  const ProcessResult result = dooly({"init", "--from", "vllm serve Llama-3.1-8B"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("unknown model"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did you mean 'meta-llama/Llama-3.1-8B'"), std::string::npos) << result.err;
}

TEST(Init, NamesFlagsItCannotTranslate) {
  const ProcessResult result = dooly({"init", "--from", "vllm serve x/y --bar 3 --max-num-sqs 4"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("--from: unknown flag '--bar'\n"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--from: unknown flag '--max-num-sqs', did you mean '--max-num-seqs'\n"), std::string::npos)
      << result.err;
}

TEST(Init, DoesNotOverwrite) {
  const Scratch scratch;
  const std::string file = scratch.name("mine.yaml");
  EXPECT_EQ(dooly({"init", "--out", file}).code, 0);
  const ProcessResult again = dooly({"init", "--out", file});
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.err, file + ": exists already; --force replaces it\n");
  EXPECT_EQ(dooly({"init", "--out", file, "--force"}).code, 0);
  EXPECT_EQ(dooly({"init", "--out", scratch.name("no/such/dir.yaml")}).err,
            scratch.name("no/such/dir.yaml") + ": cannot be written: No such file or directory\n");
}

TEST(Explain, IsAcceptedAndStable) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", small_scenario());
  const ProcessResult first = dooly({"explain", file, "--set", "replicas=3", "--seed", "4"});
  EXPECT_EQ(first.code, 0);
  EXPECT_NE(first.out.find("replicas: 3\n"), std::string::npos);
  EXPECT_NE(first.out.find("seed: 4\n"), std::string::npos);
  const ProcessResult second = dooly({"explain", scratch.file("full.yaml", first.out)});
  EXPECT_EQ(second.out, first.out);
}

/// On every machine the same: where the program is installed does not show.
TEST(Explain, CallsAShippedStoreByItsName) {
  const Scratch scratch;
  const std::string file = scratch.file("small.yaml", small_scenario());
  const std::string by_default = dooly({"explain", file}).out;
  EXPECT_NE(by_default.find("store: h200,"), std::string::npos) << by_default;
  EXPECT_EQ(by_default.find("share/dooly"), std::string::npos) << by_default;
  EXPECT_EQ(dooly({"explain", file, "--set", "oracle=[{kind: profiled, store: h200}, roofline]"}).out, by_default);
  // Where others would come in by the name, it is the path, so that the explained scenario runs as this one does.
  scratch.file("h200-mine.jsonl.zst", "no store");
  const std::string beside = dooly({"explain", file}, {.directory = scratch.path()}).out;
  EXPECT_NE(beside.find("share/dooly/stores/h200,"), std::string::npos) << beside;
}

TEST(Explain, ShowsTheSumBehindTheBlocks) {
  const Scratch scratch;
  const std::string text = dooly({"explain", scratch.file("small.yaml", small_scenario())}).out;
  for (const char* part : {"weights", "activation peak", "KV blocks", "who answers:", "platform h200-vm"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Schema, IsJsonAndKnowsTheKeys) {
  const ProcessResult result = dooly({"schema", "scenario"});
  EXPECT_EQ(result.code, 0);
  const auto schema = nlohmann::json::parse(result.out);
  EXPECT_TRUE(schema.contains("$schema"));
  EXPECT_NE(result.out.find("max_num_batched_tokens"), std::string::npos);
}

TEST(NewPolicy, WritesATreeAndSaysWhatIsNext) {
  const Scratch scratch;
  const ProcessResult result = dooly({"new", "policy", "my-own"}, {.directory = scratch.path()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(scratch / "my-own" / "CMakeLists.txt"));
  EXPECT_NE(result.out.find("my-own/policy.cpp\n"), std::string::npos);
  EXPECT_NE(result.err.find("next: cmake -S my-own"), std::string::npos);
  EXPECT_EQ(dooly({"new", "policy", "my-own"}, {.directory = scratch.path()}).err,
            "my-own: exists already; nothing was written\n");
}

TEST(NewPolicy, RefusesNamesThatAreNone) {
  const Scratch scratch;
  const ProcessResult bad = dooly({"new", "policy", "My Own"}, {.directory = scratch.path()});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("got 'My Own'"), std::string::npos) << bad.err;
  EXPECT_EQ(dooly({"new", "policy", "static"}, {.directory = scratch.path()}).err,
            "policy name: 'static' is a built-in policy\n");
}

}  // namespace
}  // namespace dooly::cli
