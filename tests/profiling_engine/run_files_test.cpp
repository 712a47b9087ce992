#include "files/errors.hpp"
#include "profiling_engine/served_run.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

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
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{50, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string said = "nothing";
  try {
    write_decisions(run, scratch.path());
  } catch (const files::WriteFailed& error) {
    said = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(said, (scratch / "run.decisions.jsonl.gz").string() + ": cannot write: File too large");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace dooly::profiling
