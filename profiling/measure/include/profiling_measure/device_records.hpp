#pragma once

#include "profiling_measure/shared_library.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A kernel, a copy or a fill that a GPU has done, by its own clock.
struct DeviceRecord {
  std::string name;  ///< the kernel's symbol; "copy", "fill"
  std::uint64_t start_ns = 0, end_ns = 0;
  std::int32_t grid_blocks = 0;  ///< of a kernel
  double seconds() const { return static_cast<double>(end_ns - start_ns) * 1e-9; }
};

/// What the device does, whoever launches it, kernels within CUDA graphs one by one: CUPTI's activity records. CUPTI
/// (found while running) hands buffers back on threads of its own, to functions without a context, so there is one
/// reader for the process. Errors, the library's absence too, throw ProfilingError.
class DeviceRecords {
 public:
  static DeviceRecords& instance();

  void enable(bool on) const;
  /// Records since it was last asked, by start. Work has to have ended: synchronise before.
  std::vector<DeviceRecord> take();

 private:
  DeviceRecords();
  template <class Function>
  void find(const char* name, Function*& into);
  static void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void read_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                          std::size_t filled);
  void read(const std::uint8_t* record);

  SharedLibrary library_;
  int (*enable_)(int) = nullptr;
  int (*disable_)(int) = nullptr;
  int (*flush_)(std::uint32_t) = nullptr;
  int (*next_)(std::uint8_t*, std::size_t, std::uint8_t**) = nullptr;
  std::mutex mutex_;
  std::vector<DeviceRecord> records_;
};

/// Records while it lives; then off again.
class RecordingDevice {
 public:
  RecordingDevice() { DeviceRecords::instance().enable(true); }
  ~RecordingDevice();
  RecordingDevice(const RecordingDevice&) = delete;
  RecordingDevice& operator=(const RecordingDevice&) = delete;
  /// As DeviceRecords::take().
  std::vector<DeviceRecord> take() const { return DeviceRecords::instance().take(); }
};

/// A kernel's symbol for people: demangled, the first hundred characters.
std::string kernel_text(const std::string& symbol);

}  // namespace dooly::profiling
