#pragma once

#include "profiling_measure/shared_library.hpp"
#include "profiling_measure/timer.hpp"

#include <string>

namespace dooly::profiling {

/// What the driver says of one GPU (NVML, loaded while running). Everything is empty or 0 where it is absent.
class Nvml {
 public:
  /// `bus_id`: of the GPU, as the CUDA runtime names it.
  explicit Nvml(const std::string& bus_id);
  DeviceReading reading() const;
  double top_clock_mhz() const { return top_clock_mhz_; }
  const std::string& gpu_name() const { return gpu_name_; }
  const std::string& driver() const { return driver_; }

 private:
  using Device = void*;
  SharedLibrary library_;
  Device device_ = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  double top_clock_mhz_ = 0;
  std::string gpu_name_, driver_;
};

}  // namespace dooly::profiling
