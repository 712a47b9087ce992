#include "dooly_process.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace dooly::cli {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Step, WhatWasStudiedIsKeptWhereALaterBatchFails) {
  const Scratch scratch;
  const std::string json = scratch.name("steps.jsonl");
  const ProcessResult result =
      dooly({"step", "config.json", "--kernels", ".", "--batches", "8x1024,16x0,200x64,1x1", "--json", json});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_NE(result.err.find("KV cache is too small"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "8 at 1024\n16 at 0\n");
  EXPECT_EQ(text_of(json), "{\"batch\":\"8 at 1024\"}\n{\"batch\":\"16 at 0\"}\n");
}

TEST(Step, AFileThatCannotBeWrittenIsRefusedBeforeAnyStepRuns) {
  const Scratch scratch;
  const ProcessResult result =
      dooly({"step", "config.json", "--kernels", ".", "--json", scratch.name("nowhere/steps.jsonl")});
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(result.err, scratch.name("nowhere/steps.jsonl") + ": cannot be written: No such file or directory\n");
  EXPECT_EQ(result.out, "");
}

TEST(Step, AFullDiskIsToldAndLeavesNoHalfLine) {
  const Scratch scratch;
  const std::string json = scratch.name("steps.jsonl");
  const ProcessResult result =
      dooly({"step", "config.json", "--kernels", ".", "--batches", "1x1,2x1,3x1,4x1,5x1,6x1,7x1,8x1", "--json", json},
            {.file_size = 120});  // 8 lines of 19 bytes; what goes to stderr has less
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err, json + ": cannot write: File too large\n");
  EXPECT_FALSE(std::filesystem::exists(json));
  EXPECT_TRUE(cli::unfinished_files(scratch.path()).empty());
}

TEST(Step, RefusesBatchesThatItCannotRead) {
  for (const char* batches : {"64", "x1024", "0x1024", "64x", "8x1024,seven"}) {
    const ProcessResult result = dooly({"step", "config.json", "--kernels", ".", "--batches", batches});
    EXPECT_EQ(result.code, 2) << batches;
    EXPECT_NE(result.err.find("--batches"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace dooly::cli
