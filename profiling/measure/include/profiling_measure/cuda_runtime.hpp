#pragma once

#include "profiling_measure/shared_library.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace dooly::profiling {

/// A call of the CUDA runtime found no memory on the device.
class DeviceMemoryFull : public std::bad_alloc {
 public:
  explicit DeviceMemoryFull(std::string text) : text_(std::make_shared<std::string>(std::move(text))) {}
  const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;  ///< shared: copying an exception must not throw
};

/// The part of the CUDA runtime that is used here. Names and numbers are those of the CUDA Runtime API, version 13.
class CudaRuntime {
 public:
  using Handle = void*;
  /// Of the libcudart that LibTorch has loaded. Throws ProfilingError naming what is missing.
  CudaRuntime();
  /// Of `library`, a libcudart. Throws ProfilingError naming what it lacks.
  explicit CudaRuntime(const SharedLibrary& library);

  /// Throws DeviceLost for errors after which the device answers nothing else, DeviceMemoryFull, std::runtime_error for
  /// others.
  void check(int status, const char* call) const;
  /// As NVML calls the device: "00000000:C1:00.0".
  std::string bus_id(int device) const;
  /// Fetches and clears the last error.
  int take_error() const { return get_last_error(); }
  std::string describe(int status) const { return get_error_string(status); }

  int (*device_count)(int*);
  int (*set_device)(int);
  int (*malloc)(void**, std::size_t);
  int (*free)(void*);
  int (*memset)(void*, int, std::size_t);
  int (*stream_create)(Handle*, unsigned);
  int (*stream_synchronize)(Handle);
  int (*begin_capture)(Handle, int);
  int (*end_capture)(Handle, Handle*);
  int (*graph_instantiate)(Handle*, Handle, unsigned long long);
  int (*graph_launch)(Handle, Handle);
  int (*graph_exec_destroy)(Handle);
  int (*graph_destroy)(Handle);
  int (*event_create)(Handle*);
  int (*event_record)(Handle, Handle);
  int (*event_record_flags)(Handle, Handle, unsigned);
  int (*event_synchronize)(Handle);
  int (*event_elapsed)(float*, Handle, Handle);
  int (*event_destroy)(Handle);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*device_attribute)(int*, int, int);
  int (*device_bus_id)(char*, int, int);
  int (*runtime_version)(int*);
  int (*get_last_error)();
  const char* (*get_error_string)(int);

 private:
  SharedLibrary library_;
};

}  // namespace dooly::profiling
