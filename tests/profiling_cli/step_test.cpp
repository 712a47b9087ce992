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
  EXPECT_NE(result.err.find("--json"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
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
