#pragma once

#include "profiling_measure/shared_library.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace dooly::profiling {

// The parts of the CUDA runtime (version 13) and of NCCL (version 2) that are used here. Both are loaded in the
// processes of the ranks alone. Constructors throw SweepError naming what is missing and where it was looked for.

class CommCuda {
 public:
  using Handle = void*;
  CommCuda();
  /// Throws std::runtime_error, or std::bad_alloc for a device without memory.
  void check(int status, const char* call) const;

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
  int (*event_record)(Handle, Handle, unsigned);
  int (*event_elapsed)(float*, Handle, Handle);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*device_attribute)(int*, int, int);
  int (*device_bus_id)(char*, int, int);
  int (*runtime_version)(int*);
  int (*get_last_error)();
  const char* (*get_error_string)(int);

 private:
  SharedLibrary library_;
};

class CommNccl {
 public:
  using Communicator = void*;
  using Stream = void*;
  /// ncclUniqueId: passed by value.
  struct UniqueId {
    std::array<char, 128> bytes;
  };
  /// Switches NVLink multicast off (forbid_multicast()) before the library is there to read it.
  CommNccl();
  void check(int status, const char* call) const;
  /// "2.28.9"
  std::string version() const;
  /// ncclDataType_t; throws std::runtime_error for a type that is none.
  static int type_of(const std::string& dtype);

  int (*get_version)(int*);
  int (*get_unique_id)(UniqueId*);
  int (*init_rank)(Communicator*, int, UniqueId, int);
  int (*destroy)(Communicator);
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator, Stream);
  int (*all_gather)(const void*, void*, std::size_t, int, Communicator, Stream);
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator, Stream);
  int (*send)(const void*, std::size_t, int, int, Communicator, Stream);
  int (*receive)(void*, std::size_t, int, int, Communicator, Stream);
  int (*group_start)();
  int (*group_end)();
  const char* (*get_error_string)(int);
  const char* (*get_last_error)(Communicator);  ///< null in old versions

 private:
  SharedLibrary library_;
};

/// NCCL_NVLS_ENABLE=0 in this process and its children, whatever was there before: multicast by NVLink can leave the
/// GPUs of a shared host unusable, and times with it are other times.
void forbid_multicast();

}  // namespace dooly::profiling
