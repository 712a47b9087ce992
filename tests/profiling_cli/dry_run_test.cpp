// A dry run refuses what the run itself would.
#include "dooly_process.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

class DryRunRefuses : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DryRunRefuses, AValueThatWillNotDo) {
  const auto& [option, value] = GetParam();
  const ProcessResult result = dooly({"model", "meta-llama/Llama-3.1-8B", "--dry-run", option, value});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.find(std::string(option) + ": must be "), 0u) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Options, DryRunRefuses,
                         testing::Values(std::pair("--target", "nan"), std::pair("--target", "0"),
                                         std::pair("--budget", "-1s"), std::pair("--budget", "5"),
                                         std::pair("--max-points", "0"), std::pair("--max-num-seqs", "99999999999"),
                                         std::pair("--point-timeout", "0s")));

}  // namespace
}  // namespace dooly::cli
