#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/decision_log.hpp"
#include "results/iteration_log.hpp"
#include "scratch.hpp"

namespace dooly::results {
namespace {

TEST(IterationLog, RowHasEveryColumn) {
  const Scratch scratch;
  IterationLog log(scratch / "iterations.csv", {"main", "a,b"});
  IterationRow row;
  row.pool = 1, row.replica = 2, row.iteration = 3, row.start_s = 0.5, row.end_s = 0.75;
  row.requests = 4, row.decodes = 3, row.tokens = 515, row.prefill_tokens = 512, row.context_tokens = 1000;
  row.running = 4, row.waiting = 1, row.kv_blocks = 99, row.preempted = 0;
  row.token_ops_s = 0.125, row.attention_s = 0.0625, row.launch_s = 0.001;
  log.add(row);
  log.sink().finish();
  EXPECT_EQ(text_of(scratch / "iterations.csv"),
            std::string(IterationLog::kHeader) +
                "\"a,b\",2,3,0.5,0.75,4,3,515,512,1000,4,1,99,0,0.125,0.0625,0,0,0,0.001,0,0,0\n");
  const auto commas = [](std::string_view text) { return std::count(text.begin(), text.end(), ','); };
  EXPECT_EQ(commas(IterationLog::kHeader) + 1,
            commas("\"a,b\",2,3,0.5,0.75,4,3,515,512,1000,4,1,99,0,0,0,0,0,0,0,0,0,0"));
}

TEST(DecisionLog, LineIsAnObject) {
  const Scratch scratch;
  DecisionLog log(scratch / "decisions.jsonl", {"ma\"in"});
  const std::vector<ScheduledTokens> scheduled = {{7, 1, 600}, {9, 512, 0}};
  const std::vector<std::uint64_t> admitted = {9};
  const std::vector<std::string> why = {"budget\tspent"};
  DecisionRow row;
  row.replica = 1, row.call = 5, row.time_s = 0.1, row.scheduled = scheduled, row.admitted = admitted, row.why = why;
  row.running = 2, row.free_blocks = 10;
  log.add(row);
  log.add({});
  log.sink().finish();
  const std::string text = text_of(scratch / "decisions.jsonl");
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["pool"], "ma\"in");
  EXPECT_EQ(first["call"], 5);
  EXPECT_EQ(first["time_s"], 0.1);
  EXPECT_EQ(first["scheduled"], nlohmann::json::parse("[[7,1,600],[9,512,0]]"));
  EXPECT_EQ(first["admitted"], nlohmann::json::parse("[9]"));
  EXPECT_EQ(first["preempted"], nlohmann::json::array());
  EXPECT_EQ(first["why"][0], "budget\tspent");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

}  // namespace
}  // namespace dooly::results
