// dooly validate as a user calls it: exit statuses, files, messages.
#include "hand_made_run.hpp"

#include "../cli/dooly_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dooly::validate {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ValidateCommand : public testing::Test {
 protected:
  ValidateCommand() { test::write_hand_made_run(scratch_.path()); }
  std::string file(const std::string& name, const std::string& more) {
    return scratch_.file(name, test::hand_made_validation(more));
  }
  cli::Scratch scratch_;
};

TEST_F(ValidateCommand, BoundsThatAreMetAreFine) {
  const auto result = cli::dooly({"validate", file("v.yaml", "bounds: {requests.ttft: {mean: 1%}}\n")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "  bound requests.ttft mean within 1%: +0.0% met\n")) << result.out;
}

TEST_F(ValidateCommand, ABoundThatIsMissedIsExitStatus4) {
  const auto result = cli::dooly({"validate", file("v.yaml", "bounds: {requests.tpot: {mean: 11%}}\n")});
  EXPECT_EQ(result.code, 4);
  EXPECT_TRUE(has(result.out, "  bound requests.tpot mean within 11%: -11.1% MISSED\n")) << result.out;
}

TEST_F(ValidateCommand, BadInputIsExitStatus2AndNothingRuns) {
  const auto result = cli::dooly({"validate", file("good.yaml", ""), file("bad.yaml", "clok: client\n")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(has(result.err, "bad.yaml:9:1: clok: unknown key, did you mean 'clock'?")) << result.err;
}

TEST_F(ValidateCommand, ASimulationThatBreaksOffIsExitStatus3) {
  std::string text = test::hand_made_validation("checks: requests\n");
  const std::string engine = "  engine: {async_scheduling: false}\n";
  text.insert(text.find(engine), std::string("  scheduler: {plugin: ") + BREAKER_PLUGIN +
                                     ", policy: breaker, options: {rule: nothing}}\n");
  const auto result = cli::dooly({"validate", scratch_.file("broken.yaml", text)});
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(has(result.err, "broken.yaml: the simulation stalled: request 0 on main.0")) << result.err;
  EXPECT_FALSE(has(result.err, "bug")) << result.err;
}

TEST_F(ValidateCommand, AnOutThatIsAFileIsRefusedBeforeAnythingRuns) {
  const auto result = cli::dooly({"validate", file("v.yaml", ""), "--out", scratch_.file("taken", "x")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(cli::read_file(scratch_ / "taken"), "x");
}

TEST_F(ValidateCommand, MissingDataAreSkippedBesideOthers) {
  std::string absent = test::hand_made_validation();
  absent.replace(absent.find("tiny/run"), 8, "tiny/non");
  const std::string skipped = scratch_.file("absent.yaml", absent);
  const auto both = cli::dooly({"validate", file("v.yaml", ""), skipped});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(has(both.out, "skipped: ")) << both.out;
  EXPECT_TRUE(has(both.out, "tiny/non.run.json: no such file")) << both.out;
  EXPECT_TRUE(has(both.out, "1 within bounds, 0 out of bounds, 1 skipped\n")) << both.out;
  const auto alone = cli::dooly({"validate", skipped});
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(has(alone.err, "tiny/non.run.json: no such file")) << alone.err;
}

TEST_F(ValidateCommand, JsonHoldsWhatTheTableShows) {
  const auto result =
      cli::dooly({"validate", file("v.yaml", "bounds: {requests.tpot: {mean: 11%}}\n"), "--format", "json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_FALSE(json.at("met"));
  EXPECT_EQ(json.at("bounds").at(0).at("verdict"), "missed");
  EXPECT_NEAR(json.at("bounds").at(0).at("found").get<double>(), 20.0 / 22.5 - 1, 1e-9);
  EXPECT_EQ(json.at("tallies").at(0).at("compared"), 6);
}

TEST_F(ValidateCommand, OutHoldsPairsAndAPlot) {
  const std::string out = scratch_.name("out");
  ASSERT_EQ(cli::dooly({"validate", file("v.yaml", ""), "--out", out}).code, 0);
  const auto json = nlohmann::json::parse(cli::read_file(scratch_ / "out/v.json"));
  for (const auto& series : json.at("series"))
    EXPECT_EQ(series.at("measured").size(), series.at("pairs").get<std::size_t>()) << series.at("name");
  const std::string svg = cli::read_file(scratch_ / "out/v.svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* panel : {"requests.ttft", "requests.tpot", "requests.e2e", "decode_only.gpu"})
    EXPECT_TRUE(has(svg, panel)) << panel;
}

TEST_F(ValidateCommand, AFullDiskLeavesNoHalfFile) {
  const std::string out = scratch_.name("out");
  const auto result = cli::dooly({"validate", file("v.yaml", ""), "--out", out}, {.file_size = 500});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err, out + "/v.json: cannot write: File too large\n");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(ValidateCommand, ResultsThatAreThereStayUnlessForced) {
  const std::string out = scratch_.name("out"), validation = file("v.yaml", "");
  std::filesystem::create_directory(out);
  scratch_.file("out/v.svg", "mine");
  scratch_.file("out/other.json", "another's");
  const auto refused = cli::dooly({"validate", validation, "--out", out});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, out + ": holds results of an earlier run (v.svg); --force replaces them\n");
  EXPECT_EQ(cli::read_file(scratch_ / "out/v.svg"), "mine");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "out/v.json"));
  EXPECT_EQ(cli::dooly({"validate", validation, "--out", out, "--force"}).code, 0);
  EXPECT_TRUE(cli::read_file(scratch_ / "out/v.svg").starts_with("<svg "));
  EXPECT_EQ(cli::read_file(scratch_ / "out/other.json"), "another's");
}

TEST_F(ValidateCommand, EqualCallsGiveEqualBytes) {
  const std::string validation = file("v.yaml", "");
  cli::dooly({"validate", validation, "--out", scratch_.name("a")});
  cli::dooly({"validate", validation, "--out", scratch_.name("b")});
  EXPECT_EQ(cli::read_file(scratch_ / "a/v.json"), cli::read_file(scratch_ / "b/v.json"));
  EXPECT_EQ(cli::read_file(scratch_ / "a/v.svg"), cli::read_file(scratch_ / "b/v.svg"));
}

}  // namespace
}  // namespace dooly::validate
