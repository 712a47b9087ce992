#include "profiling_trace/replay.hpp"

#include "replay_recorder.hpp"

#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace dooly::profiling {

namespace {

/// Tensors of an argument: one, or those of a list; nothing for other values.
std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> all;
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      if (!item.isTensor() && !item.isNone()) return {};
      all.push_back(item.isTensor() ? item.toTensor() : at::Tensor());
    }
  }
  return all;
}

c10::IValue list_of(const c10::TypePtr& type, const std::vector<at::Tensor>& tensors) {
  if (type->containedType(0)->kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> list;
    for (const at::Tensor& tensor : tensors) {
      list.push_back(tensor.defined() ? std::optional(tensor) : std::nullopt);
    }
    return list;
  }
  return c10::List<at::Tensor>(tensors);
}

}  // namespace

ReplayTensor ReplayRecorder::describe(const at::Tensor& tensor) const {
  ReplayTensor wanted;
  if (!tensor.defined()) {
    wanted.dtype = at::ScalarType::Undefined;
    return wanted;
  }
  wanted.sizes = tensor.sizes().vec();
  wanted.strides = tensor.strides().vec();
  wanted.dtype = tensor.scalar_type();
  wanted.device = tensor.device();
  if (!tensor.is_floating_point()) wanted.kept = tensor;
  wanted.producer = producer(tensor);
  return wanted;
}

std::optional<std::pair<std::size_t, std::size_t>> ReplayRecorder::producer(const at::Tensor& tensor) const {
  const auto found = made_.find(tensor.unsafeGetTensorImpl());
  return found == made_.end() ? std::nullopt : std::optional(found->second.by);
}

std::shared_ptr<const ReplayCall> ReplayRecorder::record(const ObservedCall& call, std::size_t index) {
  auto replay = std::make_shared<ReplayCall>(ReplayCall{call.handle, call.arguments, {}});
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::vector<at::Tensor> tensors = tensors_in(call.arguments[i]);
    if (tensors.empty()) continue;
    for (const at::Tensor& tensor : tensors) replay->tensors[i].push_back(describe(tensor));
    replay->arguments[i] = c10::IValue();
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    c10::TensorImpl* impl = call.results[i].unsafeGetTensorImpl();
    made_.insert_or_assign(
        impl, Made{c10::weak_intrusive_ptr<c10::TensorImpl>(call.results[i].getIntrusivePtr()), {index, i}});
  }
  return replay;
}

at::Tensor Replay::tensor(const ReplayTensor& wanted) const {
  if (wanted.dtype == at::ScalarType::Undefined) return {};
  if (wanted.producer) {
    const auto found = made_.find(*wanted.producer);
    if (found != made_.end()) return found->second;
  }
  if (wanted.kept.defined()) return wanted.kept;
  at::Tensor made =
      at::empty_strided(wanted.sizes, wanted.strides, at::TensorOptions().dtype(wanted.dtype).device(wanted.device));
  return made.normal_();
}

void Replay::run(std::size_t index) {
  const c10::InferenceMode inference;
  const Untraced unseen;
  const ReplayCall& call = *trace_.operators.at(index).replay;
  const auto& schema = call.handle.schema();
  torch::jit::Stack stack;
  std::vector<at::Tensor> written;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto found = call.tensors.find(i);
    if (found == call.tensors.end()) {
      stack.push_back(call.arguments[i]);
      continue;
    }
    std::vector<at::Tensor> tensors;
    for (const ReplayTensor& wanted : found->second) tensors.push_back(tensor(wanted));
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written.insert(written.end(), tensors.begin(), tensors.end());
    c10::TypePtr type = schema.arguments()[i].type();
    while (type->kind() == c10::TypeKind::OptionalType) type = type->containedType(0);
    const bool is_list = type->kind() == c10::TypeKind::ListType;
    stack.emplace_back(is_list ? list_of(type, tensors) : c10::IValue(tensors.front()));
  }
  call.handle.callBoxed(stack);
  for (const auto& [argument, all] : call.tensors)
    for (const ReplayTensor& wanted : all) on_gpu_ = on_gpu_ || wanted.device.is_cuda();
  std::size_t result = 0;
  for (const c10::IValue& value : stack) {
    for (at::Tensor& tensor : tensors_in(value)) made_[{index, result++}] = std::move(tensor);
  }
  for (at::Tensor& tensor : written) {  // written arguments that are not returned come last, as in records
    if (result < trace_.operators[index].record.outputs.size()) made_[{index, result++}] = std::move(tensor);
  }
}

void Replay::finish() const {
  if (!on_gpu_) return;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  guard.synchronizeDevice(guard.getDevice().index());
}

}  // namespace dooly::profiling
