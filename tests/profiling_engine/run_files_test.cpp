#include "files/errors.hpp"
#include "profiling_engine/served_run.hpp"
#include "test_support/scratch.hpp"
#include "test_support/small_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace dooly::profiling {
namespace {

/// gzip hides how much it has written, so that the last bytes are lost on closing at the latest.
TEST(FullDisk, LeavesNoHalfLogOfARun) {
  const test::Scratch scratch;
  ServedRun run;
  run.name = "run";
  for (int i = 0; i < 100; ++i) run.decisions.push_back("{\"row\":" + std::to_string(i * i % 97) + "}");
  const std::string said = [&] {
    const test::SmallFiles limited(50);
    return test::message_of<files::WriteFailed>([&] { write_decisions(run, scratch.path()); });
  }();
  EXPECT_EQ(said, (scratch / "run.decisions.jsonl.gz").string() + ": cannot write: File too large");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace dooly::profiling
