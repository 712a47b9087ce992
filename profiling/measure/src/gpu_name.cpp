#include "profiling_measure/gpu_name.hpp"

#include <array>

namespace dooly::profiling {

namespace {

struct Name {
  std::string_view driver, table;
};

constexpr std::array kNames = {Name{"NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"},
                               Name{"NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"},
                               Name{"NVIDIA A100-SXM4-40GB", "A100-SXM-40GB"},
                               Name{"NVIDIA A40", "A40"},
                               Name{"NVIDIA B200", "B200"},
                               Name{"NVIDIA H100 80GB HBM3", "H100-SXM"},
                               Name{"NVIDIA H200", "H200-SXM"},
                               Name{"NVIDIA H800", "H800-SXM"},
                               Name{"NVIDIA L40S", "L40S"},
                               Name{"NVIDIA L4", "L4"},
                               Name{"NVIDIA RTX A6000", "RTX-A6000"},
                               Name{"NVIDIA GeForce RTX 4090", "RTX-4090"},
                               Name{"Tesla V100-SXM2-32GB", "V100-SXM-32GB"}};

}  // namespace

std::string table_gpu_name(std::string_view driver_name) {
  for (const Name& name : kNames) {
    if (name.driver == driver_name) {
      return std::string(name.table);
    }
  }
  return std::string(driver_name);
}

}  // namespace dooly::profiling
