#include "quantities.hpp"

#include "cli_error.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace dooly::profiling {
namespace {

TEST(Quantities, CarryTheirUnits) {
  EXPECT_DOUBLE_EQ(percentage("--target", "3%"), 0.03);
  EXPECT_DOUBLE_EQ(duration_s("--budget", "300s"), 300);
  EXPECT_DOUBLE_EQ(duration_s("--budget", "1.5m"), 90);
  EXPECT_DOUBLE_EQ(duration_s("--budget", "2h"), 7200);
  EXPECT_EQ(list_of("--tp", "1,2,4"), (std::vector<std::string>{"1", "2", "4"}));
}

TEST(Quantities, OthersAreRefusedByOption) {
  const auto why = [](auto act) { return test::message_of<cli::UsageError>(act); };
  EXPECT_EQ(why([] { percentage("--target", "3"); }), "--target: must be a percentage from 0.1% to 50%, got '3'");
  EXPECT_EQ(why([] { percentage("--target", "90%"); }), "--target: must be a percentage from 0.1% to 50%, got '90%'");
  EXPECT_EQ(why([] { duration_s("--budget", "300"); }),
            "--budget: must be a duration with its unit (ms, s, m, h), got '300'");
  EXPECT_EQ(why([] { duration_s("--budget", "-3s"); }),
            "--budget: must be a duration with its unit (ms, s, m, h), got '-3s'");
  EXPECT_EQ(why([] { whole("--tp", "0", 1, 8); }), "--tp: must be a whole number from 1 to 8, got '0'");
  EXPECT_EQ(why([] { list_of("--tp", "1,,2"); }), "--tp: must be words with a comma between them, got '1,,2'");
  EXPECT_EQ(why([] { list_of("--tp", "1,2,1"); }), "--tp: '1' comes twice");
}

TEST(Kernels, ASweepThatCouldMeasureNothingIsRefused) {
  const auto why = [](auto act) { return test::message_of<cli::UsageError>(act); };
  ::unsetenv("DOOLY_VLLM_KERNELS");
  EXPECT_EQ(
      why([] {
        kernels_of({}, "cuda", {"torch", "fa3"});
      }),
      "--kernels: needed for the kernels of --backend fa3: the folder of the engine's libraries "
      "(scripts/vllm-kernels fetches them; $DOOLY_VLLM_KERNELS may name it); --backend torch measures LibTorch's own");
  EXPECT_EQ(why([] { kernels_of({}, "cpu", {"fa3"}); }),
            "--backend: on a processor LibTorch's own kernels alone run, so --backend torch, got 'fa3'");
  EXPECT_EQ(kernels_of({}, "cuda", {"torch"}), "");
  EXPECT_EQ(kernels_of({}, "cpu", {"torch"}), "");
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(kernels_of(folder, "cuda", {"fa3"}), folder);
  ::setenv("DOOLY_VLLM_KERNELS", folder.c_str(), 1);
  EXPECT_EQ(kernels_of({}, "cuda", {"fa3"}), folder);
  ::setenv("DOOLY_VLLM_KERNELS", "/nope", 1);
  EXPECT_EQ(why([] { kernels_of({}, "cuda", {"fa3"}); }), "--kernels: no such folder, got '/nope'");
  ::unsetenv("DOOLY_VLLM_KERNELS");
}

TEST(HeldOutBeside, HasANameThatNobodyTakesForTheStores) {
  EXPECT_EQ(held_out_beside("stores/h200.jsonl.zst"), "stores/held-out-h200.jsonl.zst");
  EXPECT_EQ(held_out_beside("h200"), "held-out-h200.jsonl.zst");
  EXPECT_EQ(held_out_beside("a/h200/"), "a/held-out-h200.jsonl.zst");
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(held_out_beside("."), here.parent_path() / ("held-out-" + here.filename().string() + ".jsonl.zst"));
}

}  // namespace
}  // namespace dooly::profiling
