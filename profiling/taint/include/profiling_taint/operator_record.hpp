#pragma once

#include "profiling_taint/expression.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dooly::profiling {

/// A size as it was in this pass, and where it comes from; without a label nobody knows.
struct Dim {
  std::int64_t size = 0;
  std::optional<Expression> label;
};
using Dims = std::vector<Dim>;

struct TensorRecord {
  Dims dims;
  std::string dtype;      ///< as LibTorch prints it: "BFloat16", "Int"
  bool defined = true;    ///< false: an optional tensor that was not given
};

/// One argument of a call. Integers keep their expression.
struct Argument {
  using Value =
      std::variant<std::monostate, TensorRecord, std::vector<TensorRecord>, Dim, Dims, double, bool, std::string>;
  std::string name;
  Value value;
  bool is_written = false;  ///< the schema says that the operator writes it
};

/// One call of an operator, as the dispatcher saw it.
struct OperatorRecord {
  std::string name;      ///< "aten::view", "_C::rms_norm"
  std::string overload;  ///< "" or "out", "Tensor", ...
  std::vector<Argument> arguments;    ///< by the schema; tensors as they were before the call
  std::vector<TensorRecord> outputs;  ///< returned tensors, lists taken apart; then written ones that are not returned
  std::vector<std::string> output_names;  ///< of each output: the argument that it is, or ""

  const Argument* find(std::string_view argument) const;
};

}  // namespace dooly::profiling
