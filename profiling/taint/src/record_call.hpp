#pragma once

#include "profiling_taint/operator_record.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace dooly::profiling {

/// Arguments of a call as they are before it.
OperatorRecord record_arguments(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& arguments);

/// The value with plain integers where it held tainted ones, in lists too.
c10::IValue without_taint(const c10::IValue& value);

/// What a call gave: returned tensors, then written arguments that it did not return, and which arguments they are.
struct CallResult {
  at::Tensor tensor;
  std::string argument;  ///< "" if it is none
};
std::vector<CallResult> results_of(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& arguments,
                                   const std::vector<c10::IValue>& returned);

}  // namespace dooly::profiling
