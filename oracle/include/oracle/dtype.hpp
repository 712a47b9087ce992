#pragma once

#include <cstdint>
#include <string_view>

namespace dooly::oracle {

/// Number formats of weights, activations and KV cache.
enum class DType : std::uint8_t { kFloat32, kFloat16, kBfloat16, kFp8, kMxfp4 };

/// Bytes per element, scales included: fp8 checkpoints carry a 4-byte scale per 128 × 128 block, mxfp4 an 8-bit scale
/// per 32 elements (OCP microscaling formats, v1.0).
double bytes_per_element(DType dtype);

std::string_view dtype_name(DType dtype);

/// Reads `bfloat16`, `bf16`, `float16`, `half`, `fp16`, `float32`, `float`, `fp8`, `fp8_e4m3`, `fp8_e5m2`, `mxfp4`,
/// with or without `torch.` before it. Throws OracleError that lists the known names.
DType parse_dtype(std::string_view text);

}  // namespace dooly::oracle
