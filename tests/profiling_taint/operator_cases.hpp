#pragma once

#include <vector>

namespace dooly::profiling {

/// A small call of an operator, in symbols, so that it can be made at any binding of them.
struct OperatorCase {
  /// "name.overload" of LibTorch's dispatcher (of `aten` where no name space is written), or the whole schema of an
  /// operator that needs a GPU: it is run with a stand-in for its kernel.
  const char* schema;
  /// "name=value" by the schema, separated by blanks; the others have their defaults. Values: "[T,2*I]:long" a tensor
  /// (float, full of 0.5, or of 1 and true), "[T]?" one without labels, "{[T];[R]}" a list of them ("none": not given),
  /// "(T,-1)" integers, "T+1" one, "0.5", "true", "'text'", and for element types "half".
  const char* arguments;
  int unlabelled = 0;  ///< dimensions of results that only the data, or nobody, can know
  const char* results = nullptr;  ///< of a stand-in: the sizes of what it returns, "[T,I];[T]"
};

const std::vector<OperatorCase>& aten_cases();
const std::vector<OperatorCase>& library_cases();

}  // namespace dooly::profiling
