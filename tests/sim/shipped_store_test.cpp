#include "sim/profile_store.hpp"

#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dooly::sim {
namespace {

namespace fs = std::filesystem;

class ShippedStore : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  fs::path directory_ = fs::temp_directory_path() / ("dooly-shipped-" + std::to_string(::getpid()));
};

TEST_F(ShippedStore, IsNamedByTheFilesOfItsGpu) {
  const fs::path stores = test::source_path("stores");
  EXPECT_EQ(shipped_store(stores, "H200-SXM"), "h200");
  EXPECT_EQ(shipped_store(stores, "H200"), "h200") << "an alias";
  EXPECT_EQ(shipped_store(stores, "A100-SXM-80GB"), "");
  EXPECT_EQ(shipped_store(stores, "no such GPU"), "");
  EXPECT_EQ(shipped_store(directory_ / "nothing", "H200-SXM"), "");
}

TEST_F(ShippedStore, FilesOfAnotherNameAreNotOpened) {
  std::ofstream(directory_ / "h200-broken.jsonl.zst") << "not zstd";
  EXPECT_EQ(shipped_store(directory_, "A100-SXM-80GB"), "");
  EXPECT_ANY_THROW(shipped_store(directory_, "H200-SXM")) << "what it lacks is not passed over in silence";
  fs::copy(test::source_path("stores/h200-nccl.jsonl.zst"), directory_ / "a100-of-another.jsonl.zst");
  EXPECT_EQ(shipped_store(directory_, "A100-SXM-80GB"), "") << "the environment decides, not the name";
}

}  // namespace
}  // namespace dooly::sim
