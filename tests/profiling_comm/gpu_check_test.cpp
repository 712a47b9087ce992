#include "profiling_measure/gpu_check.hpp"

#include "fake_setting.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(GpuCheck, FindsGpus) { EXPECT_EQ(why_no_gpu(), ""); }

TEST(GpuCheck, ADriverWithoutGpusShowsNone) {
  const FakeSetting none("FAKE_GPUS", "0");
  EXPECT_EQ(why_no_gpu(), "NVIDIA's driver shows none");
}

TEST(GpuCheck, HiddenGpusAreNamedAsHidden) {
  const FakeSetting none("FAKE_GPUS", "0"), hidden("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(why_no_gpu(), "NVIDIA's driver shows none, with CUDA_VISIBLE_DEVICES=''");
}

TEST(GpuCheck, ADriverThatCannotStartIsQuoted) {
  const FakeSetting broken("FAKE_DRIVER_ERROR", "803");
  EXPECT_EQ(why_no_gpu(), "NVIDIA's driver answers CUDA error 803");
}

}  // namespace
}  // namespace dooly::profiling
