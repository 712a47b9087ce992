#include "profiling_measure/nvml.hpp"

#include <array>

namespace dooly::profiling {

namespace {

constexpr int kSmClock = 1;           // NVML_CLOCK_SM
constexpr int kChipTemperature = 0;   // NVML_TEMPERATURE_GPU
constexpr double kMilliwatts = 1000;

using Text = std::array<char, 128>;

}  // namespace

Nvml::Nvml(const std::string& bus_id) : library_("libnvidia-ml.so.1") {
  auto* initialise = library_.find<int()>("nvmlInit_v2");
  auto* by_bus = library_.find<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || by_bus == nullptr || initialise() != 0) {
    return;
  }
  Text text{};
  auto* driver = library_.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (driver != nullptr && driver(text.data(), text.size()) == 0) {
    driver_ = text.data();
  }
  if (by_bus(bus_id.c_str(), &device_) != 0) {
    return;
  }
  clock_ = library_.find<int(Device, int, unsigned*)>("nvmlDeviceGetClockInfo");
  power_ = library_.find<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage");
  temperature_ = library_.find<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature");
  auto* name = library_.find<int(Device, char*, unsigned)>("nvmlDeviceGetName");
  if (name != nullptr && name(device_, text.data(), text.size()) == 0) {
    gpu_name_ = text.data();
  }
  unsigned value = 0;
  auto* top_clock = library_.find<int(Device, int, unsigned*)>("nvmlDeviceGetMaxClockInfo");
  if (top_clock != nullptr && top_clock(device_, kSmClock, &value) == 0) {
    top_clock_mhz_ = value;
  }
}

DeviceReading Nvml::reading() const {
  DeviceReading reading;
  unsigned value = 0;
  if (clock_ != nullptr && clock_(device_, kSmClock, &value) == 0) {
    reading.sm_clock_mhz = value;
  }
  if (power_ != nullptr && power_(device_, &value) == 0) {
    reading.power_w = value / kMilliwatts;
  }
  if (temperature_ != nullptr && temperature_(device_, kChipTemperature, &value) == 0) {
    reading.temperature_c = value;
  }
  return reading;
}

}  // namespace dooly::profiling
