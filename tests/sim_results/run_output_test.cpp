#include "results/run_output.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/errors.hpp"
#include "results/recorder.hpp"
#include "scratch.hpp"
#include "test_support/small_files.hpp"

namespace dooly::results {
namespace {

namespace fs = std::filesystem;

RowNames names() {
  return {.request_class = [](std::uint16_t) { return std::string("chat"); },
          .pool = [](std::uint16_t) { return std::string("main"); }};
}

/// Two requests into `directory`.
Summary run_into(RunOutput& output, const std::optional<std::string>& partial = {}) {
  Recorder recorder({}, output.requests());
  FinishedRequest request;
  request.scheduled_s = request.first_token_engine_s = request.first_token_s = request.finish_s = 0;
  request.output_tokens = 1;
  recorder.finished(request);
  request.row = request.id = 1;
  request.status = RequestStatus::kRejected;
  request.reason = recorder.reason("no room");
  recorder.finished(request);
  if (output.iterations() != nullptr) output.iterations()->add({});
  RunTotals totals;
  totals.submitted = 2;
  totals.partial = partial;
  return recorder.finish(std::move(totals));
}

Timing untimed() { return {}; }

std::vector<std::string> files_of(const fs::path& path) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(RunOutput, WritesWhatWasAskedFor) {
  const Scratch scratch;
  RunOutput output(scratch / "out", false, {.iterations_csv = true}, names(), {"main"});
  Summary summary = run_into(output);
  output.publish(summary, untimed);
  EXPECT_EQ(files_of(scratch / "out"),
            (std::vector<std::string>{".dooly-lock", "iterations.csv", "requests.csv", "summary.json", "timing.json"}));
  EXPECT_NE(text_of(scratch / "out/requests.csv").find("rejected,no room\n"), std::string::npos);
}

TEST(RunOutput, ItsTimingHoldsTheWritingOfTheOthers) {
  const Scratch scratch;
  RunOutput output(scratch / "out", false, {.iterations_csv = true}, names(), {"main"});
  Summary summary = run_into(output);
  output.publish(summary, [&] {
    std::size_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(scratch / "out"))
      if (entry.is_regular_file() && entry.path().filename().string().find("timing") == std::string::npos)
        bytes += entry.file_size();
    EXPECT_GT(bytes, 1000u) << "summary and rows are written when it is asked for";
    return Timing{.wall_s = 3, .stages_s = {{"write", 2}}};
  });
  const nlohmann::json timing = nlohmann::json::parse(text_of(scratch / "out/timing.json"));
  EXPECT_EQ(timing["stages_s"]["write"], 2);
}

TEST(RunOutput, WithoutADirectoryWritesNothing) {
  RunOutput output({}, false, {}, names(), {"main"});
  EXPECT_EQ(output.requests(), nullptr);
  Summary summary = run_into(output);
  output.publish(summary, untimed);
  EXPECT_FALSE(output.failed());
}

TEST(RunOutput, MarksAnInterruptedRun) {
  const Scratch scratch;
  {
    RunOutput output(scratch / "out", false, {}, names(), {"main"});
    Summary summary = run_into(output, "interrupted");
    output.publish(summary, untimed);
  }
  EXPECT_EQ(files_of(scratch / "out"),
            (std::vector<std::string>{"PARTIAL", "requests.csv", "summary.json", "timing.json"}));
  EXPECT_EQ(nlohmann::json::parse(text_of(scratch / "out/summary.json"))["partial"]["reason"], "interrupted");
}

TEST(RunOutput, AFullDiskLeavesAMarkedSummary) {
  const Scratch scratch;
  RunOutput output(scratch / "out", false, {}, names(), {"main"});
  output.requests()->sink().fail("requests.csv: cannot write: No space left on device");
  EXPECT_TRUE(output.failed());
  Summary summary = run_into(output);
  EXPECT_EQ(message_of<WriteFailed>([&] { output.publish(summary, untimed); }),
            "requests.csv: cannot write: No space left on device");
  EXPECT_FALSE(fs::exists(scratch / "out/requests.csv"));
  EXPECT_EQ(text_of(scratch / "out/PARTIAL"), "a result file could not be written\n");
  EXPECT_EQ(nlohmann::json::parse(text_of(scratch / "out/summary.json"))["partial"]["reason"],
            "a result file could not be written");
}

TEST(RunOutput, RoomThatRunsOutInTheMiddleOfARunCostsOnlyTheFileThatNeededIt) {
  const Scratch scratch;
  RunOutput output(scratch / "out", false, {}, names(), {"main"});
  Recorder recorder({}, output.requests());
  const test::SmallFiles limited(1 << 20);
  FinishedRequest rejected;
  rejected.status = RequestStatus::kRejected;
  constexpr std::uint64_t kCount = 50'000;
  for (; rejected.row < kCount; rejected.id = ++rejected.row) recorder.finished(rejected);
  EXPECT_TRUE(output.failed());
  RunTotals totals;
  totals.submitted = kCount;
  Summary summary = recorder.finish(totals);
  EXPECT_NE(message_of<WriteFailed>([&] { output.publish(summary, untimed); }).find("cannot write: File too large"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text_of(scratch / "out/summary.json"))["requests"]["rejected"], kCount);
  EXPECT_FALSE(fs::exists(scratch / "out/requests.csv"));
  EXPECT_TRUE(fs::exists(scratch / "out/PARTIAL"));
}

TEST(RunOutput, SameRunSameBytes) {
  const Scratch scratch;
  for (const char* name : {"a", "b"}) {
    RunOutput output(scratch / name, false, {.iterations_csv = true}, names(), {"main"});
    Summary summary = run_into(output);
    output.publish(summary, [&] { return Timing{.wall_s = name[0] == 'a' ? 1.0 : 2.0}; });
  }
  for (const char* file : {"summary.json", "requests.csv", "iterations.csv"}) {
    EXPECT_EQ(text_of(scratch / "a" / file), text_of(scratch / "b" / file)) << file;
  }
}

}  // namespace
}  // namespace dooly::results
