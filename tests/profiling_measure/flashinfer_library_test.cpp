#include "flashinfer_library.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dooly::profiling {
namespace {

TEST(FlashInferLibrary, SaysOfWhichWheelItsKernelsAre) {
  EXPECT_EQ(FlashInferLibrary(FAKE_FLASHINFER "/new").version(), "0.6.14");
  EXPECT_EQ(FlashInferLibrary(FAKE_FLASHINFER "/old").version(), "unknown");  // from before libraries said so
  EXPECT_THROW(FlashInferLibrary(FAKE_FLASHINFER "/none"), ProfilingError);
}

}  // namespace
}  // namespace dooly::profiling
