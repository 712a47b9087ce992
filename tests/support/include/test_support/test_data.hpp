#pragma once

#include <filesystem>

namespace dooly::test {

/// A file of the checkout, e.g. source_path("scenarios/quickstart.yaml").
std::filesystem::path source_path(const std::filesystem::path& relative);

/// A file of the data that tests read but the project does not hold, e.g. data_path("golden/vllm"): under $DOOLY_DATA,
/// else under ../shared beside the checkout. It may be absent: then the test skips and names it,
/// `if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;`.
std::filesystem::path data_path(const std::filesystem::path& relative);

}  // namespace dooly::test
