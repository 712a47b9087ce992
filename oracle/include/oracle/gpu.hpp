#pragma once

#include "oracle/dtype.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace dooly::oracle {

/// Peaks of one GPU as its data sheet gives them; FLOP/s are dense, without sparsity.
struct Gpu {
  std::string_view name;
  double memory_bytes = 0;      ///< what the driver offers to a program (less than the label on the box)
  double memory_bandwidth = 0;  ///< bytes/s
  double flops_16 = 0;          ///< float16 tensor FLOP/s; bfloat16 too if `has_bfloat16`
  double flops_8 = 0;           ///< fp8 tensor FLOP/s; 0: none, computed at 16 bits
  double flops_32 = 0;          ///< float32 without tensor cores
  double link_bandwidth = 0;    ///< bytes/s a direction to the other GPUs of the node
  bool has_nvlink = true;       ///< `link_bandwidth` is NVLink's (or Infinity Fabric's); else PCIe's
  bool has_bfloat16 = true;
  std::uint32_t multiprocessors = 0;
  double board_power = 0;  ///< W
  std::string_view source;
};

/// Peak FLOP/s for matrices of that format: the next wider one where the hardware lacks it.
double peak_flops(const Gpu& gpu, DType dtype);

/// Sorted by name.
std::span<const Gpu> shipped_gpus();

/// By name (H200-SXM) or short name (H200), case does not matter. Every processor ("CPU Intel(R) Xeon(R) …", as
/// profiles name it) is the entry CPU. Throws OracleError that lists the known names.
const Gpu& find_gpu(std::string_view name);

/// Whether that is the entry CPU: its figures are round ones for any processor, no data sheet's.
bool is_processor(const Gpu& gpu);

/// The number format an engine computes in: `auto` is the checkpoint's, float32 becomes 16 bits, and bfloat16 becomes
/// float16 where the GPU has none. Throws OracleError for an explicit bfloat16 on such a GPU.
DType resolve_dtype(std::string_view requested, DType checkpoint, const Gpu& gpu);

/// `auto` is `dtype`.
DType resolve_kv_dtype(std::string_view requested, DType dtype);

}  // namespace dooly::oracle
