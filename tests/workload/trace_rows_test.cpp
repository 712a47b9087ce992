#include "trace_rows.hpp"

#include "support.hpp"
#include "workload/sampler.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dooly::workload {
namespace {

using namespace test;
using TooLong = scenario::TraceSpec::TooLong;

std::vector<Taken> all_of(const scenario::TraceSpec& trace, MaxModelLen max_model_len = {}) {
  return take_all(*make_workload({named("trace", trace)}, 1, std::move(max_model_len)));
}

const std::string kRows = "arrived_at,num_prefill_tokens,num_decode_tokens\n1,10,1\n2,20,2\n4,30,3\n";

TEST(TraceStream, SpeedupHalvesTheGaps) {
  const TempFile file("t.csv", kRows);
  auto trace = trace_of(file.path(), "vidur");
  trace.speedup = 2;
  const auto all = all_of(trace);
  EXPECT_EQ(all[0].request.arrival_s, 0.5);
  EXPECT_EQ(all[2].request.arrival_s, 2);
}

TEST(TraceStream, LimitTakesTheFirstRows) {
  const TempFile file("t.csv", kRows + "nonsense");
  auto trace = trace_of(file.path(), "vidur");
  trace.limit = 2;
  EXPECT_EQ(all_of(trace).size(), 2U);
}

// Three arrivals over 3 s: the mean gap is 1.5 s, so a pass takes 4.5 s and the rate stays.
TEST(TraceStream, LoopKeepsTheRate) {
  const TempFile file("t.csv", kRows);
  auto trace = trace_of(file.path(), "vidur");
  trace.loop = 3;
  const auto source = make_workload({named("trace", trace)}, 1);
  EXPECT_EQ(source->expected_requests(), 9U);
  const auto all = take_all(*source);
  const double arrivals[] = {1, 2, 4, 5.5, 6.5, 8.5, 10, 11, 13};
  ASSERT_EQ(all.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(all[i].request.arrival_s, arrivals[i]);
    EXPECT_EQ(all[i].request.id, i);
    EXPECT_EQ(all[i].request.prompt_tokens, 10 * (i % 3 + 1));
  }
}

TEST(TraceStream, DurationEndsIt) {
  const TempFile file("t.csv", kRows);
  auto trace = trace_of(file.path(), "vidur");
  trace.duration_s = 2.5;
  trace.loop = 2;
  EXPECT_EQ(all_of(trace).size(), 2U);
}

TEST(TraceStream, ArrivalsCanReplaceTheTimes) {
  const TempFile file("t.csv", "num_prefill_tokens,num_decode_tokens\n10,1\n20,2\n");
  auto trace = trace_of(file.path(), "sharegpt");
  EXPECT_EQ(error_of([&] { all_of(trace); }),
            file.path().string() + ": format sharegpt has no arrival times: give `arrivals`");
  trace.arrivals = scenario::Arrivals{scenario::Arrivals::Constant{2}};
  trace.loop = 2;
  const auto all = all_of(trace);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[3].request.arrival_s, 1.5);
  EXPECT_EQ(all[3].request.prompt_tokens, 20U);
}

TEST(TraceStream, ClassesAndPrioritiesOfRowsCountUnlessForced) {
  const TempFile file("t.csv", "arrival_s,prompt_tokens,output_tokens,class,priority\n0,1,1,chat,3\n1,1,1,,\n");
  auto spec = named("trace", trace_of(file.path(), "dooly"));
  spec.priority = 5;
  auto all = take_all(*make_workload({spec}, 1));
  EXPECT_EQ(all[0].class_name, "chat");
  EXPECT_EQ(all[0].request.priority, 3);
  EXPECT_EQ(all[1].class_name, "trace");
  EXPECT_EQ(all[1].request.priority, 5);
  spec.class_name = "batch";
  all = take_all(*make_workload({spec}, 1));
  EXPECT_EQ(all[0].class_name, "batch");
}

TEST(TraceStream, TooLongIsLeftToTheFrontDoorOrCut) {
  const TempFile file("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,90,10\n1,91,10\n2,5,300\n");
  auto trace = trace_of(file.path(), "vidur");
  const auto limit = [](const std::string&) { return 100U; };
  EXPECT_EQ(all_of(trace, limit)[1].request.prompt_tokens, 91U);
  trace.too_long = TooLong::kTruncate;
  const auto all = all_of(trace, limit);
  EXPECT_EQ(all[0].request.prompt_tokens, 90U);
  EXPECT_FALSE(all[0].request.truncated);
  EXPECT_EQ(all[1].request.prompt_tokens, 90U);
  EXPECT_EQ(all[1].request.output_tokens, 10U);
  EXPECT_TRUE(all[1].request.truncated);
  EXPECT_EQ(all[2].request.prompt_tokens, 1U);
  EXPECT_EQ(all[2].request.output_tokens, 99U);
}

// 1100 tokens in blocks of 512: two full blocks and a partial one that is nobody else's.
TEST(TraceStream, HashIdsBecomeChainedSegmentsOfFullBlocks) {
  const TempFile file("t.jsonl",
                      "{\"timestamp\":0,\"input_length\":1100,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
                      "{\"timestamp\":1,\"input_length\":1536,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
                      "{\"timestamp\":2,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[9,2]}\n");
  const auto all = all_of(trace_of(file.path(), "mooncake"));
  const auto &a = all[0].request.content, &b = all[1].request.content, &c = all[2].request.content;
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(a[0].end_token, 512U);
  EXPECT_EQ(a[1].end_token, 1024U);
  ASSERT_EQ(b.size(), 3U);
  EXPECT_EQ(a[1].key, b[1].key);
  EXPECT_NE(b[1].key, c[1].key);  // the same id behind another one is another prefix
  EXPECT_EQ(all[0].block_ids, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(TraceStream, DeadlinesKeepTheirDistance) {
  const TempFile file("t.csv", "arrival_s,prompt_tokens,output_tokens,deadline_s\n0,1,1,\n4,1,1,7\n");
  auto trace = trace_of(file.path(), "dooly");
  trace.speedup = 2;
  EXPECT_EQ(all_of(trace)[1].request.deadline_s, 5);  // sent at 2, 3 s later
}

TEST(TraceStream, OwnIdsAreKept) {
  const TempFile file("t.csv", "arrival_s,prompt_tokens,output_tokens,id\n0,1,1,50\n1,1,1,7\n");
  const auto all = all_of(trace_of(file.path(), "dooly"));
  EXPECT_EQ(all[0].request.id, 50U);
  EXPECT_EQ(all[1].request.id, 7U);
}

/// A trace with everything in it: sessions whose turns wait, plain rows, prefixes, blocks, classes.
std::string rich_trace(int sessions) {
  std::string text =
      "# dooly-trace 1 "
      "block_size=16\narrival_s,prompt_tokens,output_tokens,class,session,turn,after_s,prefix_id,prefix_tokens,block_"
      "ids\n";
  RandomStream random(3, "rich");
  for (int i = 0; i < sessions; ++i) {
    const std::string at = std::to_string(i * 2);
    text += at + ",40,3,a,,,,,,1 2\n" + at + ",40,3,b,,,,5,20,\n";
    std::uint64_t prompt = 20 + random.below(20);
    text += at + "," + std::to_string(prompt) + ",3,b," + std::to_string(i) + ",0,0,5,16,\n";
    for (std::uint64_t turn = 1; turn <= random.below(4); ++turn) {
      prompt += 3 + random.below(9);
      text += "," + std::to_string(prompt) + ",3,b," + std::to_string(i) + "," + std::to_string(turn) + ",1.5,5,16,\n";
    }
  }
  return text;
}

std::vector<Request> drain(TraceRows& rows) {
  std::vector<Request> all;
  for (; rows.head(); rows.advance()) {
    for (auto at = rows.head(); at; at = rows.next_turn(*at)) {
      Request request;
      rows.fill(request, *at);
      request.id = rows.id(*at);
      request.arrival_s = rows.waits(*at) ? -1 : rows.arrival_s(*at);
      request.block_ids = {};
      all.push_back(request);
    }
  }
  return all;
}

TEST(TraceRows, AFileThatIsNotKeptGivesTheSameRowsInEveryPass) {
  const TempFile file("t.csv", rich_trace(20'000));
  ClassTable classes_a, classes_b;
  PartContext context;
  context.default_class = "x";
  TraceRows::Options options;
  options.path = file.path();
  options.loop = 3;
  context.classes = &classes_a;
  TraceRows kept(options, context);
  options.kept_rows = 1000;
  context.classes = &classes_b;
  TraceRows streamed(options, context);
  EXPECT_EQ(streamed.rows_in_all(), 0U);
  const auto a = drain(kept), b = drain(streamed);
  ASSERT_GT(a.size(), 180'000U);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].arrival_s, b[i].arrival_s) << i;
    ASSERT_EQ(a[i].prompt_tokens, b[i].prompt_tokens) << i;
    ASSERT_EQ(a[i].session, b[i].session) << i;
    ASSERT_EQ(a[i].turn, b[i].turn) << i;
    ASSERT_EQ(a[i].after_s, b[i].after_s) << i;
    ASSERT_TRUE(same_content(a[i], b[i])) << i;
  }
}

TEST(TraceRows, SessionsOfLaterPassesAreOthers) {
  const TempFile file("t.csv", rich_trace(3));
  auto trace = trace_of(file.path(), "dooly");
  trace.loop = 2;
  std::set<std::uint64_t> sessions;
  for (const Taken& taken : all_of(trace)) {
    if (taken.request.session != kNoSession) sessions.insert(taken.request.session);
  }
  EXPECT_EQ(sessions, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(TraceRows, TurnsFarApartInAFileThatIsNotKeptAreRefused) {
  std::string text = "arrival_s,prompt_tokens,output_tokens,session,after_s\n0,10,1,7,\n";
  for (int i = 0; i < 50'000; ++i) text += "1,1,1,,\n";
  const TempFile file("t.csv", text + ",20,1,7,1\n");
  ClassTable classes;
  PartContext context;
  context.classes = &classes;
  TraceRows::Options options;
  options.path = file.path();
  options.kept_rows = 100;
  EXPECT_NE(error_of([&] {
              TraceRows rows(options, context);
              drain(rows);
            })
                .find(":50003: row 50002: session: in a file of this size the turns of a session stand together; to "
                      "sort: dooly workload convert --sort"),
            std::string::npos);
}

}  // namespace
}  // namespace dooly::workload
