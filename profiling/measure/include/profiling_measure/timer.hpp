#pragma once

#include "oracle/environment.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

/// What a device says of itself; 0: it does not say.
struct DeviceReading {
  double sm_clock_mhz = 0, power_w = 0, temperature_c = 0;
};

/// Work of an operator: `launches` runs of it, readied to be timed as one.
class TimedWork {
 public:
  virtual ~TimedWork() = default;
  /// Runs all of it and returns the seconds of the device. `reading`: the device while it ran.
  virtual double run(DeviceReading& reading) = 0;
  /// Whether the runs follow each other without the host (a CUDA graph); else gaps between launches are in the time.
  virtual bool is_captured() const = 0;
};

/// The device's clock, and what brings the device into a state worth timing in.
class Timer {
 public:
  using Run = std::function<void(std::size_t)>;  ///< the argument picks one of the copies of the inputs
  virtual ~Timer() = default;
  /// `launches` runs, with copies 0, 1, … `copies` - 1, 0, …
  virtual std::unique_ptr<TimedWork> prepare(const Run& run, std::uint32_t launches, std::size_t copies) = 0;
  /// Seconds on the clock that times; for budgets and pauses.
  virtual double now() = 0;
  /// Leaves the device idle.
  virtual void pause(double seconds) = 0;
  /// Keeps the device under full load for about so long, up to the moment the next work runs.
  virtual void heat(double seconds) = 0;
  /// Greatest clock of the multiprocessors; 0: not known.
  virtual double top_clock_mhz() const = 0;
  virtual std::uint64_t cache_bytes() const = 0;  ///< of the last level
  /// GPU, driver and CUDA of the environment.
  virtual oracle::Environment environment() = 0;
  /// Symbols of the kernels that `run(0)` launches, in order, each once; empty if nobody can tell.
  virtual std::vector<std::string> kernels_of(const Run& run) = 0;
  /// After an operator failed: gives memory back and clears the error. Throws DeviceLost if the device stays broken.
  virtual void recover() = 0;
};

std::unique_ptr<Timer> make_cpu_timer();
/// Throws ProfilingError without a CUDA device.
std::unique_ptr<Timer> make_cuda_timer();

}  // namespace dooly::profiling
