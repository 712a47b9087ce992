// The binding of the CUDA runtime, on a library that stands for it.
#include "comm_libraries.hpp"
#include "fake_setting.hpp"

#include "profiling_measure/cuda_runtime.hpp"
#include "profiling_measure/device_lost.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace dooly::profiling {
namespace {

TEST(CudaRuntime, TellsFullMemoryAndALostDeviceFromOtherErrors) {
  const CudaRuntime cuda = load_cuda_runtime();
  EXPECT_NO_THROW(cuda.check(0, "cudaMalloc"));
  try {
    cuda.check(2, "cudaMalloc");
    FAIL() << "full memory is no error";
  } catch (const std::bad_alloc& error) {
    EXPECT_STREQ(error.what(), "cudaMalloc: fake error (2)");
  }
  EXPECT_THROW(cuda.check(700, "cudaGraphLaunch"), DeviceLost);
  try {
    cuda.check(1, "cudaMemset");
    FAIL() << "an error is none";
  } catch (const DeviceLost&) {
    FAIL() << "an invalid value loses no device";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cudaMemset: fake error (1)");
  }
}

TEST(CudaRuntime, NamesADeviceAsTheDriverDoes) { EXPECT_EQ(load_cuda_runtime().bus_id(2), "0000:03:00.0"); }

TEST(CudaRuntime, ALibraryThatIsNoneIsToldByWhatItLacks) {
  const FakeSetting other("DOOLY_CUDART", "libm.so.6");
  try {
    load_cuda_runtime();
    FAIL() << "libm is no CUDA";
  } catch (const SweepError& error) {
    EXPECT_STREQ(error.what(), "libcudart.so.13 lacks cudaGetDeviceCount");
  }
}

}  // namespace
}  // namespace dooly::profiling
