#pragma once

#include "profiling_measure/shared_library.hpp"

#include <cstddef>
#include <string>

namespace dooly::profiling {

/// The part of the CUDA runtime that timing needs, found in the libcudart that LibTorch has loaded. Names and numbers
/// are those of the CUDA Runtime API, version 13.
class CudaRuntime {
 public:
  using Handle = void*;
  /// Throws ProfilingError naming what is missing.
  CudaRuntime();

  /// Throws DeviceLost for errors after which the device answers nothing else, std::runtime_error for others.
  void check(int status, const char* call) const;
  /// Fetches and clears the last error.
  int take_error() const { return get_last_error(); }
  std::string describe(int status) const { return get_error_string(status); }

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
