#include "batch_text.hpp"
#include "cli_error.hpp"
#include "dooly_process.hpp"
#include "oracle_query.hpp"

#include "oracle/fixed_oracle.hpp"
#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace dooly::cli {
namespace {

using nlohmann::json;

TEST(BatchText, TermsAreCountQueryContext) {
  const BatchOnPaper paper = parse_batch("2x512@0 + 32x1@1024+1x1@0");
  const oracle::BatchShape batch = paper.batch();
  EXPECT_EQ(batch.decodes, 32u);
  EXPECT_EQ(batch.decode_context, 32u * 1024);
  EXPECT_EQ(batch.decode_context_squares, 32u * 1024 * 1024);
  ASSERT_EQ(batch.prefills.size(), 3u);
  EXPECT_EQ(batch.prefill_tokens, 1025u);
  EXPECT_EQ(batch.logits_rows, 35u);
  for (const char* bad :
       {"", "2x", "512@0", "0x1@1", "1x0@5", "1x1@-1", "1x1@1 +", "axb@c", "99999999x1@1", "1048576x1024@0"})
    EXPECT_THROW(parse_batch(bad), UsageError) << bad;
}

TEST(BatchText, SquaresOfContextsThatDoNotFitAreRefused) {
  EXPECT_EQ(parse_batch("65535x1@16777216").shape.decode_context_squares, 65535ull << 48);
  EXPECT_THROW(parse_batch("65536x1@16777216"), UsageError);
  EXPECT_THROW(parse_batch("40000x1@16777216 + 40000x1@16777216"), UsageError);
  const oracle::FixedOracle fixed({.base = 0.5});
  const json answer = json::parse(answer_query(
      fixed, R"({"id":1,"decode":[{"context":16777216,"count":40000},{"context":16777216,"count":40000}]})"));
  EXPECT_EQ(answer.at("error"), "decode[1]: the sum of squares of all contexts must stay below 2^64");
}

TEST(BatchText, SharedBlocksAreCountedOnceAndForEveryOtherHolder) {
  const oracle::BatchShape batch = parse_batch("8 share 512 + 1x64@512+ 8x1@1024 + 3 share 256").batch();
  EXPECT_EQ(batch.shared_tokens, 512u + 256);
  EXPECT_EQ(batch.repeated_tokens, 512u * 7 + 256 * 2);
  EXPECT_EQ(batch.decodes, 8u);
  const auto refusal = [](const char* text) {
    try {
      parse_batch(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("8x1@1024 + 9 share 512").rfind("--batch: 9 requests share, the batch has 8, got '", 0), 0u);
  EXPECT_EQ(refusal("8x1@1024 + 8 share 1024 + 2 share 1")
                .rfind("--batch: more tokens are shared than the requests have in their contexts, 8192, got '", 0),
            0u);
  EXPECT_EQ(refusal("32x1@4096 + 4x1@9000 + 8 share 8192")
                .rfind("--batch: 8 requests share 8192 tokens, and 4 have as many in their contexts, got '", 0),
            0u);
  for (const char* bad : {"8x1@1024 + 1 share 512", "8x1@1024 + share 512", "8x1@1024 + 8 share 0", "8 share 512",
                          "8x1@1024 + 8 shares 5", "8x1@1024 + 8 share -5"})
    EXPECT_FALSE(refusal(bad).empty()) << bad;
}

TEST(OracleQuery, SharedBlocksAreThoseOfABatchText) {
  class Telling final : public oracle::LatencyOracle {
   public:
    std::string_view name() const override { return "telling"; }
    oracle::RequestCost request_cost(std::uint32_t) const override { return {}; }

   private:
    void do_cost(const oracle::BatchShape& shape, oracle::DeviceState, oracle::StepCost& answer) const override {
      answer.device.other = static_cast<double>(shape.shared_tokens);
      answer.device.attention = static_cast<double>(shape.repeated_tokens);
    }
  };
  const auto ask = [](const char* shared) {
    return json::parse(
        answer_query(Telling(), std::string(R"({"decode":[{"context":1024,"count":8}],"shared":)") + shared + "}"));
  };
  const json answer = ask(R"([{"tokens":512,"count":8},{"tokens":256,"count":3}])");
  EXPECT_EQ(answer["device_s"]["other"], 512 + 256);
  EXPECT_EQ(answer["device_s"]["attention"], 512 * 7 + 256 * 2);
  EXPECT_EQ(ask(R"([{"tokens":512,"count":9}])").at("error"), "shared: 9 requests share, the batch has 8");
  EXPECT_EQ(ask(R"([{"tokens":16777216,"count":8}])").at("error"),
            "shared: more tokens are shared than the requests have in their contexts, 8192");
  EXPECT_EQ(ask(R"([{"tokens":512}])").at("error"), "shared[0].count: missing");
  EXPECT_EQ(ask(R"([{"tokens":512,"count":1}])").at("error"),
            "shared[0].count: must be a whole number from 2 to 16777216, got 1");
  EXPECT_EQ(ask(R"([{"tokens":512,"count":2,"context":1}])").at("error"), "shared[0].context: unknown member");
}

TEST(OracleQuery, DeepNestingAndNamesGivenTwiceAreErrorsOfTheLine) {
  const oracle::FixedOracle fixed({.base = 0.5});
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_EQ(json::parse(answer_query(fixed, "{\"id\":" + deep + "}")).at("error"), "nested deeper than 64 levels");
  EXPECT_EQ(json::parse(answer_query(fixed, R"({"decode":[],"decode":[{"context":5}]})")).at("error"),
            "decode: given twice");
  EXPECT_EQ(json::parse(answer_query(fixed, "[]")).at("error"), "not a JSON object");
}

/// 400,000 decodes on a line: 80 milliard steps if each looked at those before it, minutes.
TEST(OracleQuery, ManyObjectsOnALineAreReadInOneGo) {
  constexpr std::uint32_t kDecodes = 400'000;
  std::string line = R"({"decode":[{"context":7})";
  for (std::uint32_t i = 1; i < kDecodes; ++i) line += R"(,{"context":7})";
  const oracle::FixedOracle fixed({.per_token = 0.25});
  EXPECT_EQ(json::parse(answer_query(fixed, line + "]}")).at("iteration_s"), 0.25 * kDecodes);
}

TEST(OracleQuery, AnswersALine) {
  const oracle::FixedOracle fixed({.base = 0.5});
  const json answer = json::parse(answer_query(
      fixed,
      R"({"id":1,"prefill":[{"query":512,"context":0}],"decode":[{"context":1024,"count":32}],"sustained":0.0})"));
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["device_s"]["other"], 0.5);
  EXPECT_EQ(answer["iteration_s"], 0.5);
  for (const char* name : {"schedule", "launch", "sample", "update", "delivery"})
    EXPECT_TRUE(answer["host_s"].contains(name));
  for (const char* name : {"token_ops", "attention", "collective", "other"})
    EXPECT_TRUE(answer["device_s"].contains(name));
  EXPECT_TRUE(answer["provenance"].contains("roofline"));
  EXPECT_TRUE(answer.contains("stated_error"));
}

TEST(OracleQuery, ABadLineAnswersItsErrorWithItsId) {
  const oracle::FixedOracle fixed({.base = 0.5});
  const auto error = [&](const char* line) { return json::parse(answer_query(fixed, line)); };
  EXPECT_EQ(error("{").at("error"), "not a JSON object");
  EXPECT_EQ(error("{").at("id"), nullptr);
  EXPECT_EQ(error(R"({"id":"a","decodes":[]})").at("id"), "a");
  EXPECT_EQ(error(R"({"id":7,"decodes":[]})").at("error"), "decodes: unknown member");
  EXPECT_EQ(error(R"({"prefill":[{"context":0}]})").at("error"), "prefill[0].query: missing");
  EXPECT_TRUE(error(R"({"prefill":[{"query":0}]})").contains("error"));
  EXPECT_TRUE(error(R"({"decode":[{"context":-1}]})").contains("error"));
  EXPECT_TRUE(error(R"({"sustained":2})").contains("error"));
  EXPECT_TRUE(error("[1]").contains("error"));
  EXPECT_TRUE(error("\xff\xfe").contains("error"));
  EXPECT_FALSE(error("{}").contains("error"));
}

/// A store with samples of every operator of the plan but one.
std::string write_store(const Scratch& scratch, const oracle::StepPlan& plan, const std::string& without,
                        oracle::SampleStatus attention = oracle::SampleStatus::kOk) {
  const std::string path = scratch.name("mine.jsonl.zst");
  store::PortableSink sink(path);
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  sink.environment(environment);
  const auto put = [&](const oracle::PlanEntry& entry, oracle::SamplePoint point, double seconds) {
    oracle::Sample sample;
    sample.point = point;
    sample.count = 1;
    sample.regime = oracle::ClockRegime::kCool;
    if (entry.binding == oracle::Binding::kAttention) sample.status = attention;
    sample.median_s = sample.mean_s = sample.min_s = sample.p10_s = sample.p90_s = seconds;
    sink.sample(entry.key, sample);
  };
  for (const oracle::PlanEntry& entry : plan.entries) {
    if (entry.name == without) continue;
    if (entry.binding == oracle::Binding::kAttention) {
      for (const std::uint64_t n : {1, 256}) put(entry, {0, 0, 0, n, 1024}, 1e-5 * double(n));
      for (const std::uint64_t q : {16, 2048}) put(entry, {1, q, 0}, 1e-7 * double(q));
    } else {
      for (const std::uint64_t m : {1, 8192}) put(entry, {m}, 1e-5 * (1 + double(m) / 64));
    }
  }
  sink.finish();
  return path;
}

class Predict : public ::testing::Test {
 protected:
  void SetUp() override {
    plan_ = oracle::make_plan(oracle::find_model("meta-llama/Llama-3.1-8B"), {});
    std::ofstream(scratch_ / "plan.json") << plan_json(plan_);
    store_ = write_store(scratch_, plan_, "rope");
  }
  Scratch scratch_;
  oracle::StepPlan plan_;
  std::string store_;
};

TEST_F(Predict, ShowsTimesByPartAndWhereTheyCameFrom) {
  const ProcessResult result = dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", store_, "--batch",
                                      "2x512@0 + 32x1@1024", "--operators"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"iteration", "attention", "collectives", "launch", "interpolated", "qkv_proj", "roofline"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  const ProcessResult as_json = dooly(
      {"predict", "--plan", scratch_.name("plan.json"), "--store", store_, "--batch", "1x1@1024", "--format", "json"});
  const json answer = json::parse(as_json.out);
  EXPECT_NEAR(answer["device_s"]["attention"].get<double>(), 32 * 1e-5, 1e-9);
  EXPECT_GT(answer["provenance"]["measured"].get<double>(), 0.5);
}

TEST_F(Predict, FindsStoresByTheBeginningOfTheirNames) {
  const ProcessResult whole =
      dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", store_, "--batch", "1x1@1024"});
  const ProcessResult named =
      dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", scratch_.name("min"), "--batch", "1x1@1024"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, whole.out);
  const ProcessResult none =
      dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", "no-such", "--batch", "1x1@1024"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("--store: no such store"), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("; there: "), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("h200-vllm"), std::string::npos) << none.err;  // shipped
}

TEST_F(Predict, APlanIsHeldAgainstStoresByTheSameNames) {
  const auto plan = [](const std::string& store) {
    return dooly({"plan", "meta-llama/Llama-3.1-8B", "--store", store});
  };
  const ProcessResult whole = plan(store_), named = plan(scratch_.name("min"));
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, whole.out);
  const ProcessResult none = plan("no-such");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err,
            dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", "no-such", "--batch", "1x1@1024"}).err);
}

TEST_F(Predict, RefusesWhatNobodyAnswersIfTheRooflineMayNot) {
  const ProcessResult result = dooly(
      {"predict", "--plan", scratch_.name("plan.json"), "--store", store_, "--batch", "1x1@1024", "--no-roofline"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("rope"), std::string::npos) << result.err;
  EXPECT_EQ(dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", store_}).code, 2);
  EXPECT_EQ(dooly({"predict", "--plan", scratch_.name("none.json"), "--store", store_, "--batch", "1x1@1"}).code, 2);
  EXPECT_EQ(
      dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", scratch_.name("none"), "--batch", "1x1@1"})
          .code,
      2);
}

TEST_F(Predict, AScenarioRunsOnTheStoreAndSaysWhoAnswered) {
  const std::string scenario = small_scenario() + "oracle: [{kind: profiled, store: mine}, roofline]\n";
  const std::string file = scratch_.file("s.yaml", scenario);
  const ProcessResult run = dooly({"run", file, "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json summary = json::parse(run.out);
  EXPECT_GT(summary["oracle"]["answers"]["interpolated"].get<double>() +
                summary["oracle"]["answers"]["extrapolated"].get<double>(),
            0.5);
  const double roofline = summary["oracle"]["answers"]["roofline"].get<double>();
  EXPECT_GT(roofline, 0);
  EXPECT_LT(roofline, 0.2);
  const ProcessResult explained = dooly({"explain", file});
  EXPECT_NE(explained.out.find("who answers"), std::string::npos) << explained.out << explained.err;
  const std::string strict = scratch_.file("strict.yaml", small_scenario() + "oracle: {kind: profiled, store: mine}\n");
  const ProcessResult not_run = dooly({"run", strict});
  EXPECT_EQ(not_run.code, 2);
  EXPECT_NE(not_run.err.find("rope"), std::string::npos) << not_run.err;
}

/// A store of FlashAttention 2 alone.
class PredictFa2 : public Predict {
 protected:
  void SetUp() override {
    Predict::SetUp();
    Scratch other;
    const oracle::StepPlan fa2 = oracle::with_backend(plan_, "fa2");
    std::filesystem::rename(write_store(other, fa2, ""), store_);
  }
  std::string planned(const std::vector<std::string>& more, const std::string& name) {
    std::vector<std::string> words{"plan", "meta-llama/Llama-3.1-8B", "--out", scratch_.name(name), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(dooly(words).code, 0);
    return scratch_.name(name);
  }
  ProcessResult predicted(const std::string& plan) {
    return dooly({"predict", "--plan", plan, "--store", store_, "--batch", "1x1@1024", "--format", "json"});
  }
};

TEST_F(PredictFa2, APlanThatNobodyChoseABackEndForTakesTheMeasuredOne) {
  const ProcessResult free = predicted(planned({}, "free.json"));
  EXPECT_EQ(free.code, 0);
  EXPECT_EQ(free.err,
            "attention: the store has none of fa3, but of fa2, which answers (dooly plan --backend decides)\n");
  EXPECT_EQ(json::parse(free.out).at("provenance").at("roofline"), 0.0);
  const ProcessResult asked = predicted(planned({"--backend", "fa2"}, "fa2.json"));
  EXPECT_EQ(asked.out, free.out);
  EXPECT_EQ(asked.err, "");
}

TEST_F(PredictFa2, AnExplicitBackEndStaysAndIsWarnedOf) {
  const ProcessResult asked = predicted(planned({"--backend", "fa3"}, "fa3.json"));
  EXPECT_EQ(asked.code, 0);
  EXPECT_EQ(asked.err,
            "warning: attention: the store has none of fa3, but of fa2; the plan asks for fa3 (dooly plan --backend "
            "fa2)\n");
  EXPECT_GT(json::parse(asked.out).at("provenance").at("roofline"), 0.0);
  EXPECT_EQ(predicted(scratch_.name("plan.json")).err, asked.err) << "a plan that does not say who chose";
}

TEST_F(PredictFa2, APlanHeldAgainstAStoreHasItsBackEnd) {
  const ProcessResult plan = dooly({"plan", "meta-llama/Llama-3.1-8B", "--store", store_});
  EXPECT_EQ(plan.err, "attention: the store has none of fa3, but of fa2, which is planned (--backend decides)\n");
  EXPECT_NE(plan.out.find("; attention fa2, "), std::string::npos) << plan.out;
  const ProcessResult asked = dooly({"plan", "meta-llama/Llama-3.1-8B", "--store", store_, "--backend", "fa3"});
  EXPECT_EQ(asked.err, "");
  EXPECT_NE(asked.out.find("; attention fa3, "), std::string::npos) << asked.out;
}

TEST_F(PredictFa2, AScenarioTakesTheMeasuredBackEndTooAndSaysSo) {
  const std::string file =
      scratch_.file("s.yaml", small_scenario() + "oracle: {kind: profiled, store: mine}\n");  // nobody else answers
  const ProcessResult run = dooly({"run", file});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("store 'mine'; attention by fa2, which was measured;"), std::string::npos) << run.out;
  EXPECT_NE(dooly({"explain", file}).out.find("attention by fa2 x32: its own samples"), std::string::npos);
}

/// A store in which FlashAttention 3 was tried, and FlashAttention 2 measured.
class PredictFa3Tried : public PredictFa2, public testing::WithParamInterface<oracle::SampleStatus> {
 protected:
  void SetUp() override {
    PredictFa2::SetUp();
    Scratch other;
    const std::string tried = write_store(other, plan_, "", GetParam()), both = other.name("both.jsonl.zst");
    std::vector<std::string> merge{"store", "merge", both, store_, tried};
    ASSERT_EQ(dooly(merge).code, 0);
    std::filesystem::rename(both, store_);
  }
};

TEST_P(PredictFa3Tried, WhatMayNotAnswerCountsAsNotMeasured) {
  const ProcessResult free = predicted(planned({}, "free.json"));
  EXPECT_EQ(free.err,
            "attention: the store has none of fa3, but of fa2, which answers (dooly plan --backend decides)\n");
  EXPECT_EQ(json::parse(free.out).at("provenance").at("roofline"), 0.0);
  const std::string file = scratch_.file("s.yaml", small_scenario() + "oracle: {kind: profiled, store: mine}\n");
  const ProcessResult run = dooly({"run", file});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("attention by fa2, which was measured;"), std::string::npos) << run.out;
}

INSTANTIATE_TEST_SUITE_P(Status, PredictFa3Tried,
                         testing::Values(oracle::SampleStatus::kSuspect, oracle::SampleStatus::kLaunchFailed));

TEST_F(Predict, AnEnvironmentThatNoStoreHasIsRefusedWhetherTheGpuIsNamedOrNot) {
  std::vector<std::string> words{"predict",  "--plan",        scratch_.name("plan.json"),
                                 "--store",  store_,          "--batch",
                                 "1x1@1024", "--environment", "zzz"};
  const ProcessResult without = dooly(words);
  EXPECT_EQ(without.code, 2);
  EXPECT_EQ(without.err,
            "--environment: no environment of the stores has this in its id or description, got 'zzz'; dooly store ls "
            "lists them\n");
  words.insert(words.end(), {"--gpu", "H200-SXM"});
  const ProcessResult with = dooly(words);
  EXPECT_EQ(with.code, 2);
  EXPECT_EQ(with.err, without.err);
  words[8] = "measured";
  EXPECT_EQ(dooly(words).code, 0);
}

TEST_F(Predict, ThePlansBackEndStaysWhereItIsMeasured) {
  const std::string plan = scratch_.name("free.json");
  ASSERT_EQ(dooly({"plan", "meta-llama/Llama-3.1-8B", "--out", plan, "--quiet"}).code, 0);
  const ProcessResult free = dooly({"predict", "--plan", plan, "--store", store_, "--batch", "1x1@1024"});
  EXPECT_EQ(free.err, "");
  EXPECT_EQ(free.out,
            dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", store_, "--batch", "1x1@1024"}).out);
}

/// Through the tables and surfaces of a plan, so not to the last digit.
TEST_F(Predict, TheRooflineAloneIsThatOfAScenario) {
  const std::string file = scratch_.file("s.yaml", small_scenario() + "oracle: roofline\n");
  const std::string explained = dooly({"explain", file}).out;
  for (const auto& [batch, shown] : {std::pair{"1x1@1024", "a step of 1 decode at 1,024 tokens takes "},
                                     {"64x1@1024", "64 decodes at 1,024: "},
                                     {"1x2048@0", "a prompt of 2,048: "}}) {
    const ProcessResult result = dooly({"predict", "--plan", scratch_.name("plan.json"), "--oracle", "roofline",
                                        "--gpu", "H200", "--batch", batch, "--format", "json"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const json answer = json::parse(result.out);
    EXPECT_EQ(answer.at("provenance").at("roofline"), 1.0);
    double seconds = 0;
    for (const auto& [part, value] : answer.at("device_s").items()) seconds += value.get<double>();
    const std::size_t at = explained.find(shown);
    ASSERT_NE(at, std::string::npos) << explained;
    const double scenario_s = std::stod(explained.substr(at + std::string(shown).size())) * 1e-3;
    EXPECT_NEAR(seconds, scenario_s, 0.01 * scenario_s) << batch;
  }
}

TEST_F(Predict, TheRooflineAloneAsksNoStore) {
  const auto refusal = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"predict", "--plan",  scratch_.name("plan.json"), "--oracle", "roofline",
                                   "--batch", "1x1@1024"};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = dooly(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(refusal({}), "--gpu: needed, whose roofline\n");
  EXPECT_EQ(refusal({"--gpu", "H200", "--store", store_}), "--store: --oracle roofline asks no store\n");
  EXPECT_EQ(refusal({"--gpu", "H200", "--environment", "x"}), "--environment: --oracle roofline asks no store\n");
  EXPECT_EQ(refusal({"--gpu", "H200", "--no-roofline"}),
            "--no-roofline: with --oracle roofline nobody is left to answer\n");
  EXPECT_EQ(refusal({"--gpu", "H200", "--sustained", "1"}), "--sustained: --oracle roofline knows no clock\n");
}

/// One request computes its prompt, eight that find the first 2,048 tokens in the cache follow together: the steps of
/// all nine have two contexts.
TEST_F(Predict, SharedBlocksTakeWhatTheEngineIsTold) {
  std::string trace = "# dooly-trace 1\narrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n";
  for (int i = 0; i < 9; ++i) trace += std::string(i == 0 ? "0" : "1") + ",2064,400,7,2048\n";
  const std::string scenario = scratch_.file(
      "s.yaml",
      "dooly: 1\nmodel: meta-llama/Llama-3.1-8B\ngpu: H200-SXM\nplatform: {host: none}\noutput: {iterations: csv}\n"
      "workload: {trace: {format: dooly, path: " +
          scratch_.file("t.csv", trace) + "}}\n");
  const ProcessResult run = dooly({"run", scenario, "--quiet", "--out", scratch_.name("out")});
  ASSERT_EQ(run.code, 0) << run.err;
  constexpr std::size_t kDecodes = 6, kContext = 9, kAttention = 15;
  std::istringstream rows(read_file(scratch_ / "out" / "iterations.csv"));
  std::vector<std::string> cells;
  for (std::string row; std::getline(rows, row) && (cells.empty() || cells[kDecodes] != "9");) {
    cells.clear();
    std::istringstream line(row);
    for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
    ASSERT_GT(cells.size(), kAttention);
  }
  ASSERT_EQ(cells[kDecodes], "9") << "no step of nine decodes";
  const std::string first = std::to_string(std::stoi(cells[kContext]) - 8 * 2064);  // the eight have their prompts
  const auto attention_s = [&](const std::string& shared) {
    const ProcessResult result =
        dooly({"predict", "--plan", scratch_.name("plan.json"), "--store", "h200", "--platform", "none", "--batch",
               "1x1@" + first + " + 8x1@2064" + shared, "--format", "json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out).at("device_s").at("attention").get<double>();
  };
  EXPECT_DOUBLE_EQ(attention_s(" + 9 share 2048"), std::stod(cells[kAttention]));
  EXPECT_GT(attention_s(""), 1.2 * std::stod(cells[kAttention])) << "as if nothing were shared";
}

}  // namespace
}  // namespace dooly::cli
