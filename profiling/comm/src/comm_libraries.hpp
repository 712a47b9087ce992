#pragma once

#include "profiling_measure/cuda_runtime.hpp"
#include "profiling_measure/shared_library.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace dooly::profiling {

// The CUDA runtime (version 13) and the part of NCCL (version 2) that is used here. Both are loaded in the processes of
// the ranks alone. Loading throws SweepError naming what is missing and where it was looked for.

/// The CUDA runtime that $DOOLY_CUDART, the loader or the Python environment in use names.
CudaRuntime load_cuda_runtime();

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
