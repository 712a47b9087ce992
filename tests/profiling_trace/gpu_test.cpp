#include "profiling_kernels/cuda.hpp"
#include "profiling_trace/trace_report.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(TraceOnAGpu, KernelsAreNamedAndCoverThePass) {
  std::string why;
  if (!cuda_available(&why)) GTEST_SKIP() << why;
  for (const char* model : {"Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"}) {
    const TraceReport report = report_trace({.config = model, .backend = "torch", .device = "cuda", .layers = 2});
    EXPECT_TRUE(report.is_proved()) << report.text;
    EXPECT_NE(report.text.find("  kernel "), std::string::npos);
    EXPECT_EQ(report.text.find("the host: "), std::string::npos);  // only the device's time counts
    ASSERT_TRUE(report.coverage);
    EXPECT_GT(*report.coverage, 0.98) << report.text;
  }
}

}  // namespace
}  // namespace dooly::profiling
