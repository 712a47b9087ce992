// Files that a user names, on a disk that is full: status 3, the file's name and the reason, and nothing half-written.
#include "dooly_process.hpp"

#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class FullDisk : public testing::Test {
 protected:
  Scratch scratch_;
  const std::string out_ = scratch_.name("out");

  void expect_nothing_left(const std::vector<std::string>& words, std::uint64_t room) {
    const ProcessResult result = dooly(words, {.file_size = room});
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_NE(result.err.find(out_ + ": cannot write: File too large\n"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(out_)) << words.front();
    EXPECT_TRUE(unfinished_files(scratch_.path()).empty()) << words.front();
  }
};

TEST_F(FullDisk, LeavesNoPlan) { expect_nothing_left({"plan", "meta-llama/Llama-3.1-8B", "--out", out_}, 1000); }

TEST_F(FullDisk, LeavesNoScenario) { expect_nothing_left({"init", "--out", out_}, 100); }

TEST_F(FullDisk, LeavesNoTrace) {
  const std::string scenario = scratch_.file("small.yaml", small_scenario());
  expect_nothing_left({"workload", "export", scenario, "--out", out_}, 500);
}

TEST_F(FullDisk, LeavesTheFileThatWasToBeReplaced) {
  const std::string old = scratch_.file("plan.json", "old");
  const ProcessResult result = dooly({"plan", "meta-llama/Llama-3.1-8B", "--out", old, "--force"}, {.file_size = 1000});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(read_file(old), "old");
}

TEST_F(FullDisk, LeavesNoPlugIn) {
  const ProcessResult result = dooly({"new", "policy", "mine"}, {.directory = scratch_.path(), .file_size = 500});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_NE(result.err.find("mine/"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(": cannot write: File too large\n"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(scratch_ / "mine"));
}

/// As --out of every verb: a device takes what it can, is not replaced, and needs no --force.
TEST_F(FullDisk, ADeviceIsNotReplaced) {
  const std::string scenario = scratch_.file("small.yaml", small_scenario());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", "meta-llama/Llama-3.1-8B", "--out", "/dev/full"},
        {"init", "--out", "/dev/full"},
        {"workload", "export", scenario, "--to", "csv", "--out", "/dev/full"}}) {
    const ProcessResult result = dooly(words);
    EXPECT_EQ(result.code, 3) << words.front();
    EXPECT_NE(result.err.find("/dev/full: cannot write: No space left on device\n"), std::string::npos) << result.err;
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
  }
  EXPECT_EQ(dooly({"plan", "meta-llama/Llama-3.1-8B", "--out", "/dev/null"}).code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace dooly::cli
