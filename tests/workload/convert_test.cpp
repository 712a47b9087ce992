#include "workload/convert.hpp"

#include "support.hpp"

#include <gtest/gtest.h>

#include <queue>
#include <sstream>
#include <tuple>

namespace dooly::workload {
namespace {

using namespace test;
using Encoding = TraceWriter::Encoding;
using scenario::Arrivals;
using scenario::Fixed;

/// Runs a stream against a made-up server whose answers take different times, as a simulation would, and writes what it
/// was sent.
std::vector<Taken> run(RequestSource& source, TraceWriter* writer) {
  using Answer = std::tuple<double, std::uint64_t, Ticket>;  // time, request, ticket
  std::priority_queue<Answer, std::vector<Answer>, std::greater<>> answers;
  std::vector<Taken> all;
  for (;;) {
    if (!answers.empty() && std::get<0>(answers.top()) <= source.next_arrival_s()) {
      const auto [time_s, id, ticket] = answers.top();
      answers.pop();
      source.finished(ticket, time_s, id % 97 == 3 ? Outcome::kFailed : Outcome::kCompleted);
      continue;
    }
    if (source.next_arrival_s() == kNever) break;
    Taken taken;
    source.take(taken.request);
    const Request& request = taken.request;
    taken.class_name = source.classes()[request.request_class];
    if (writer != nullptr) writer->add(request, taken.class_name);
    taken.block_ids.assign(request.block_ids.begin(), request.block_ids.end());
    taken.request.block_ids = {};
    all.push_back(taken);
    // Bits that a decimal of few digits would lose; the same for equal requests.
    const double service_s = 0.1 + static_cast<double>(request.id % 13) / 7 + request.prompt_tokens * 1e-3 / 3;
    if (request.ticket != kNoTicket) answers.emplace(request.arrival_s + service_s, request.id, request.ticket);
  }
  return all;
}

void expect_same(const std::vector<Taken>& a, const std::vector<Taken>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Request &x = a[i].request, &y = b[i].request;
    ASSERT_EQ(x.id, y.id) << i;
    ASSERT_EQ(x.arrival_s, y.arrival_s) << i;
    ASSERT_EQ(x.prompt_tokens, y.prompt_tokens) << i;
    ASSERT_EQ(x.output_tokens, y.output_tokens) << i;
    ASSERT_EQ(a[i].class_name, b[i].class_name) << i;
    ASSERT_EQ(x.priority, y.priority) << i;
    ASSERT_EQ(x.session, y.session) << i;
    ASSERT_EQ(x.turn, y.turn) << i;
    ASSERT_EQ(x.after_s, y.after_s) << i;
    ASSERT_EQ(x.deadline_s, y.deadline_s) << i;
    ASSERT_EQ(x.prefix_id, y.prefix_id) << i;
    ASSERT_EQ(a[i].block_ids, b[i].block_ids) << i;
    ASSERT_TRUE(same_content(x, y)) << i;
  }
}

void expect_round_trip(const std::vector<scenario::WorkloadSpec>& specs, MaxModelLen max_model_len = {}) {
  for (const Encoding encoding : {Encoding::kCsv, Encoding::kJsonLines}) {
    const auto source = make_workload(specs, 11, max_model_len);
    std::ostringstream text;
    TraceWriter writer(text, encoding, source->columns());
    const auto first = run(*source, &writer);
    writer.finish();
    ASSERT_GT(first.size(), 0U);
    const TempFile file("export", text.str());
    const auto again = make_workload({named("again", trace_of(file.path(), "dooly"))}, 99);
    std::ostringstream second_text;
    TraceWriter second(second_text, encoding, source->columns());
    expect_same(first, run(*again, &second));
    second.finish();
    EXPECT_EQ(text.str(), second_text.str());
  }
}

scenario::SessionsSpec sessions() {
  scenario::SessionsSpec spec;
  spec.sessions = 60;
  spec.arrivals.process = Arrivals::Poisson{2};
  spec.turns = scenario::Uniform{1, 5};
  spec.think_time_s = scenario::Lognormal{2, 10, 30};
  spec.first_prompt = scenario::Uniform{10, 400};
  spec.turn_prompt = scenario::Uniform{1, 90};
  spec.output_tokens = scenario::Uniform{1, 90};
  return spec;
}

scenario::SyntheticSpec synthetic() {
  scenario::SyntheticSpec spec;
  spec.requests = 300;
  spec.arrivals.process = Arrivals::Poisson{20};
  spec.prompt_tokens = scenario::Lognormal{100, 400, 1000};
  spec.output_tokens = scenario::Zipf{1.1, 1, 100};
  spec.prefix = scenario::PrefixGroups{4, 48, 0.5};
  return spec;
}

const std::string kMooncake =
    "{\"timestamp\":0,\"input_length\":1100,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
    "{\"timestamp\":333,\"input_length\":1536,\"output_length\":7,\"hash_ids\":[1,2,9]}\n"
    "{\"timestamp\":1001,\"input_length\":100,\"output_length\":5,\"hash_ids\":[10]}\n";

TEST(RoundTrip, Synthetic) { expect_round_trip({named("a", synthetic())}); }

TEST(RoundTrip, ClosedLoop) {
  auto spec = synthetic();
  spec.arrivals.process = Arrivals::ClosedLoop{7, scenario::Uniform{0, 1}};
  const auto source = make_workload({named("a", spec)}, 11);
  std::ostringstream text;
  TraceWriter writer(text, Encoding::kCsv, source->columns());
  const auto first = run(*source, &writer);
  writer.finish();
  const TempFile file("export", text.str());
  expect_same(first, run(*make_workload({named("b", trace_of(file.path(), "dooly"))}, 1), nullptr));
}

TEST(RoundTrip, Sessions) { expect_round_trip({named("a", sessions())}); }

TEST(RoundTrip, SessionsWithAPrefix) {
  auto spec = sessions();
  spec.prefix = scenario::PrefixGroups{3, 128, 0.7};
  expect_round_trip({named("a", spec)});
}

TEST(RoundTrip, Blocks) {
  const TempFile file("m.jsonl", kMooncake);
  auto trace = trace_of(file.path(), "mooncake");
  trace.loop = 3;
  trace.speedup = 3;
  expect_round_trip({named("a", trace)});
}

TEST(RoundTrip, PromptsCutToFit) {
  const TempFile file("m.jsonl", kMooncake);
  auto trace = trace_of(file.path(), "mooncake");
  trace.too_long = scenario::TraceSpec::TooLong::kTruncate;
  expect_round_trip({named("a", trace)}, [](const std::string&) { return 700U; });
}

TEST(RoundTrip, EverythingMerged) {
  const TempFile mooncake("m.jsonl", kMooncake);
  const TempFile small("l.jsonl", "{\"input_toks\":40,\"output_toks\":1,\"arrival_time_ns\":7,\"hash_ids\":[1,2]}\n");
  auto urgent = named("urgent, \"very\"", synthetic());
  urgent.priority = -1;
  expect_round_trip({named("chat", sessions()), urgent, named("blocks", trace_of(mooncake.path(), "mooncake")),
                     named("small", trace_of(small.path(), "llmservingsim")), named("more", sessions())});
}

TEST(Convert, WritesPlainColumnsForAPlainTrace) {
  const TempFile file("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,1\n0.1,20,2\n");
  std::ostringstream out;
  EXPECT_EQ(convert_trace({.input = file.path()}, out), 2U);
  EXPECT_EQ(out.str(), "# dooly-trace 1\narrival_s,prompt_tokens,output_tokens\n0,10,1\n0.1,20,2\n");
}

TEST(Convert, KeepsBlockIds) {
  const TempFile file("m.jsonl", kMooncake);
  std::ostringstream csv, json;
  convert_trace({.input = file.path()}, csv);
  EXPECT_EQ(csv.str(),
            "# dooly-trace 1 block_size=512\narrival_s,prompt_tokens,output_tokens,block_ids\n0,1100,1,1 2 3\n"
            "0.333,1536,7,1 2 9\n1.001,100,5,10\n");
  convert_trace({.input = file.path(), .encoding = Encoding::kJsonLines}, json);
  EXPECT_EQ(json.str().substr(0, json.str().find("0.333")),
            "# dooly-trace 1 block_size=512\n"
            "{\"arrival_s\":0,\"prompt_tokens\":1100,\"output_tokens\":1,\"block_ids\":[1,2,3]}\n{\"arrival_s\":");
}

TEST(Convert, SortsAndKeepsTurnsWithTheirSession) {
  const TempFile file(
      "t.csv",
      "arrival_s,prompt_tokens,output_tokens,session,after_s\n5,10,1,,\n2,20,2,7,\n3,30,3,,\n,40,2,7,1.5\n2,50,5,,\n");
  std::ostringstream out;
  convert_trace({.input = file.path(), .sort = true}, out);
  EXPECT_EQ(out.str(),
            "# dooly-trace 1\narrival_s,prompt_tokens,output_tokens,session,turn,after_s\n2,20,2,7,0,0\n,40,2,7,1,1.5\n"
            "2,50,5,,,\n3,30,3,,,\n5,10,1,,,\n");
}

TEST(Convert, SortsDatesFromTheEarliest) {
  const TempFile file("t.csv",
                      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01,1,1\n2023-11-16 18:00:00.5,2,2\n");
  std::ostringstream out;
  convert_trace({.input = file.path(), .sort = true}, out);
  EXPECT_EQ(out.str(), "# dooly-trace 1\narrival_s,prompt_tokens,output_tokens\n0,2,2\n0.5,1,1\n");
}

TEST(TraceWriter, WritesASessionOnceItHasEnded) {
  std::ostringstream out;
  TraceColumns columns;
  columns.session = columns.after = true;
  TraceWriter writer(out, Encoding::kCsv, columns);
  const std::size_t header = out.str().size();
  Request first, other, second;
  first.session = second.session = 4;
  first.prompt_tokens = first.output_tokens = other.prompt_tokens = other.output_tokens = 1;
  first.after_s = 0;
  second = first;
  second.turn = 1;
  second.after_s = 2;
  writer.add(first, "");
  writer.add(other, "");
  writer.add(second, "");
  EXPECT_EQ(out.str().size(), header);
  writer.ended(4);
  EXPECT_EQ(out.str().substr(header), "0,1,1,4,0,0\n,1,1,4,1,2\n0,1,1,,,\n");
}

}  // namespace
}  // namespace dooly::workload
