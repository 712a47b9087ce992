#include "profiling_comm/machine.hpp"

#include "fake_setting.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(Machine, IsReadFromTheLibraries) {
  const CommMachine machine = probe_machine();
  EXPECT_EQ(machine.gpus, 4u);
  const oracle::Environment environment = machine.environment_of(2);
  EXPECT_EQ(environment.gpu, "H200-SXM");
  EXPECT_EQ(environment.multiprocessors, 132u);
  EXPECT_EQ(environment.driver, "580.1");
  EXPECT_EQ(environment.cuda, "13");
  EXPECT_EQ(environment.libraries.at("nccl"), "2.28.9");
  EXPECT_EQ(environment.source, "measured");
  EXPECT_EQ(environment.topology, "all nvlink4x18 via nvswitch, multicast off");
  EXPECT_EQ(machine.environment_of(4), environment);
}

TEST(Machine, WithoutNvlinkPcieLevelsTell) {
  const FakeSetting pcie("FAKE_PCIE", "1");
  const CommMachine machine = probe_machine();
  EXPECT_EQ(machine.environment_of(4).topology, "pcie5x16 pix 0-1 2-3, pcie5x16 sys 0-2 0-3 1-2 1-3, multicast off");
  EXPECT_EQ(machine.environment_of(2).topology, "all pcie5x16 pix, multicast off");
}

TEST(Machine, ComesThroughAPipeAsItWas) {
  const CommMachine machine = probe_machine();
  const CommMachine read = parse_machine(machine_text(machine));
  EXPECT_EQ(read.gpus, machine.gpus);
  EXPECT_EQ(read.environment, machine.environment);
  EXPECT_EQ(read.links, machine.links);
}

std::string refusal() {
  try {
    probe_machine();
  } catch (const SweepError& error) {
    return error.what();
  }
  return "found GPUs";
}

TEST(Machine, AMissingLibraryIsNamed) {
  const FakeSetting lost("DOOLY_CUDART", "/nowhere/libcudart.so.13");
  EXPECT_EQ(refusal(), "$DOOLY_CUDART: cannot load '/nowhere/libcudart.so.13'");
}

}  // namespace
}  // namespace dooly::profiling
