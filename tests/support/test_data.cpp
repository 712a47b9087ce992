#include "test_support/test_data.hpp"

#include <cstdlib>

namespace dooly::test {

std::filesystem::path source_path(const std::filesystem::path& relative) {
  return std::filesystem::path(DOOLY_SOURCE_DIR) / relative;
}

std::filesystem::path data_path(const std::filesystem::path& relative) {
  const char* root = std::getenv("DOOLY_DATA");
  const auto base = root != nullptr && *root != '\0' ? std::filesystem::path(root) : source_path("..") / "shared";
  return (base / relative).lexically_normal();
}

}  // namespace dooly::test
