#pragma once

#include "oracle/dtype.hpp"

#include <string_view>

namespace dooly::oracle {

/// The number format that a key's spelling is computed and stored in, as far as rooflines care.
inline DType key_dtype(std::string_view text) {
  if (text == "fp8_block" || text == "int8") return DType::kFp8;
  if (text == "int4") return DType::kMxfp4;
  return parse_dtype(text);
}

}  // namespace dooly::oracle
