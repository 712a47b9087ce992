#include "profiling_taint/tensor_labels.hpp"

#include "profiling_taint/taint_error.hpp"

#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include <utility>

namespace dooly::profiling {

namespace {

struct LabelMeta final : c10::BackendMeta {
  explicit LabelMeta(Labels all) : labels(std::move(all)) {}
  Labels labels;
};

}  // namespace

void set_labels(const at::Tensor& tensor, Labels labels) {
  if (static_cast<std::int64_t>(labels.size()) != tensor.dim()) {
    throw TaintError(std::to_string(labels.size()) + " labels for a tensor of " + std::to_string(tensor.dim()) +
                     " dimensions");
  }
  tensor.unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<LabelMeta>(std::move(labels)));
}

Labels labels_of(const at::Tensor& tensor) {
  const auto* meta = dynamic_cast<const LabelMeta*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
  const auto rank = static_cast<std::size_t>(tensor.dim());
  return meta != nullptr && meta->labels.size() == rank ? meta->labels : Labels(rank);
}

TensorRecord tensor_record(const at::Tensor& tensor) {
  TensorRecord record;
  if (!tensor.defined()) {
    record.defined = false;
    return record;
  }
  const Labels labels = labels_of(tensor);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    record.dims.push_back({tensor.size(static_cast<std::int64_t>(i)), labels[i]});
  }
  record.dtype = c10::toString(tensor.scalar_type());
  return record;
}

}  // namespace dooly::profiling
