#pragma once

#include "profiling_taint/operator_record.hpp"
#include "profiling_taint/rule_table.hpp"

#include <ATen/core/Tensor.h>

namespace dooly::profiling {

/// Labels live on the tensor itself (its backend meta data): shallow copies carry them, views and in-place operators
/// get them set anew by their rule.
void set_labels(const at::Tensor& tensor, Labels labels);  ///< throws TaintError unless one for each dimension
/// All unlabelled if nobody labelled the tensor, or its rank changed since.
Labels labels_of(const at::Tensor& tensor);
TensorRecord tensor_record(const at::Tensor& tensor);  ///< an undefined one too

}  // namespace dooly::profiling
