#include "oracle/dtype.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <array>
#include <utility>

namespace dooly::oracle {

double bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return 4;
    case DType::kFloat16:
    case DType::kBfloat16: return 2;
    case DType::kFp8: return 1 + 4.0 / (128 * 128);
    case DType::kMxfp4: return 0.5 + 1.0 / 32;
  }
  throw OracleError("unknown number format");
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat16: return "float16";
    case DType::kBfloat16: return "bfloat16";
    case DType::kFp8: return "fp8";
    case DType::kMxfp4: return "mxfp4";
  }
  throw OracleError("unknown number format");
}

DType parse_dtype(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, DType>, 12> kNames{{
      {"bfloat16", DType::kBfloat16},
      {"bf16", DType::kBfloat16},
      {"float16", DType::kFloat16},
      {"half", DType::kFloat16},
      {"fp16", DType::kFloat16},
      {"float32", DType::kFloat32},
      {"float", DType::kFloat32},
      {"fp32", DType::kFloat32},
      {"fp8", DType::kFp8},
      {"fp8_e4m3", DType::kFp8},
      {"fp8_e5m2", DType::kFp8},
      {"mxfp4", DType::kMxfp4},
  }};
  std::string_view bare = text;
  if (bare.starts_with("torch.")) bare.remove_prefix(6);
  for (const auto& [name, dtype] : kNames) {
    if (name == bare) return dtype;
  }
  throw OracleError(fmt::format(
      "unknown number format '{}'; known: bfloat16, float16, float32, fp8, fp8_e4m3, fp8_e5m2, mxfp4", text));
}

}  // namespace dooly::oracle
