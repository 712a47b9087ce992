// The GPU table beside a public one: AIConfigurator's systems/*.yaml.
#include "oracle/gpu.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

/// `  key: number # comment` of any depth; the keys of these files do not repeat.
std::map<std::string, double> numbers_of(const std::filesystem::path& path) {
  std::map<std::string, double> numbers;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto begin = line.find_first_not_of(' ');
    const auto colon = line.find(": ");
    if (begin == std::string::npos || colon == std::string::npos || line[begin] == '#') continue;
    const char* text = line.c_str() + colon + 2;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end != text) numbers[line.substr(begin, colon - begin)] = value;
  }
  return numbers;
}

TEST(HardwareTables, EachGpuOfAIConfiguratorIsHereWithTheSameFigures) {
  const auto folder = dooly::test::data_path("data/hardware/aiconfigurator");
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder << " is not there: systems/*.yaml of github.com/ai-dynamo/aiconfigurator";
  std::size_t gpus = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto theirs = numbers_of(entry.path());
    if (entry.path().extension() != ".yaml" || !theirs.contains("mem_bw")) continue;  // the other file of the folder
    std::string name = entry.path().stem().string();
    std::replace(name.begin(), name.end(), '_', '-');
    SCOPED_TRACE(name);
    const Gpu* ours = nullptr;
    ASSERT_NO_THROW(ours = &find_gpu(name));
    ++gpus;
    const auto expect_about = [&](double own, const char* figure, double share) {
      EXPECT_NEAR(own, theirs.at(figure), share * theirs.at(figure)) << figure;
    };
    constexpr double kRounding = 0.001;
    expect_about(ours->memory_bandwidth, "mem_bw", kRounding);
    expect_about(ours->flops_16, "bfloat16_tc_flops", kRounding);
    if (theirs.contains("fp8_tc_flops"))
      expect_about(peak_flops(*ours, DType::kFp8), "fp8_tc_flops", kRounding);
    else
      EXPECT_EQ(ours->flops_8, 0);
    if (theirs.contains("float32_tc_flops")) expect_about(ours->flops_32, "float32_tc_flops", kRounding);
    expect_about(ours->board_power, "power", kRounding);
    expect_about(ours->link_bandwidth, "intra_node_bw", 0.15);  // theirs may have what packets cost taken off
    // Theirs is what the box or nvidia-smi says, ours what a program is offered.
    EXPECT_LE(ours->memory_bytes, theirs.at("mem_capacity"));
    EXPECT_GE(ours->memory_bytes, 0.91 * theirs.at("mem_capacity"));
  }
  EXPECT_GE(gpus, 14U);
}

}  // namespace
}  // namespace dooly::oracle
