#include "profiling_trace/attribute_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

namespace dooly::profiling {
namespace {

constexpr double kLonger = 1.25, kNoticed = 5e-6;  // a share, and seconds: less is the clock's

bool is_of_request(const Dim& dim) { return dim.label && dim.label->is_request_driven(); }

/// What a call was told by one argument; empty: nothing that is of its own (a request's size), or nothing that counts.
struct Told {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(const TensorRecord& tensor) const { return tensor.defined ? tensor.dtype : "nothing"; }
  std::string operator()(const std::vector<TensorRecord>& tensors) const {
    std::vector<std::string> types;
    for (const TensorRecord& tensor : tensors) types.push_back((*this)(tensor));
    return fmt::format("{}", fmt::join(types, " "));
  }
  std::string operator()(const Dim& dim) const { return is_of_request(dim) ? "" : fmt::format("{}", dim.size); }
  std::string operator()(const Dims& dims) const {
    std::string all;
    for (const Dim& dim : dims)
      all += (all.empty() ? "" : ",") + (is_of_request(dim) ? "*" : fmt::format("{}", dim.size));
    return all;
  }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return fmt::format("'{}'", value); }
};

std::vector<std::string> kernels_of(const Trace& trace, const SignedOperation& operation) {
  std::vector<std::string> all;
  for (const std::size_t op : operation.operators)
    all.insert(all.end(), trace.operators[op].kernels.begin(), trace.operators[op].kernels.end());
  return all;
}

/// Of one call.
double seconds_of(const Trace& trace, const SignedOperation& operation) {
  double sum = 0;
  for (const std::size_t op : operation.operators)
    sum += trace.operators[op].seconds / std::max(1u, trace.operators[op].times);
  return sum;
}

/// How two runs of what should be the same differed; empty: they did not.
std::string difference(const Trace& trace, const SignedOperation& a, const SignedOperation& b) {
  const std::vector<std::string> ran = kernels_of(trace, a), other = kernels_of(trace, b);
  if (!ran.empty() && !other.empty() && ran != other)
    return fmt::format("kernels {} and {}", fmt::join(ran, " "), fmt::join(other, " "));
  const double seconds = seconds_of(trace, a), longer = seconds_of(trace, b);
  const auto [least, most] = std::minmax(seconds, longer);
  if (least <= 0 || most < kLonger * least || most - least < kNoticed) return {};
  return fmt::format("{:.1f} and {:.1f} us", 1e6 * seconds, 1e6 * longer);
}

/// "aten::rms_norm's eps: 1e-05 and 1e-06"
std::optional<std::string> told_otherwise(const Trace& trace, const SignedOperation& a, const SignedOperation& b) {
  if (a.operators.size() != b.operators.size()) return "other calls";
  for (std::size_t i = 0; i < a.operators.size(); ++i) {
    const OperatorRecord &one = trace.operators[a.operators[i]].record, &two = trace.operators[b.operators[i]].record;
    if (one.name != two.name) return fmt::format("{} and {}", one.name, two.name);
    for (const Argument& argument : one.arguments) {
      const Argument* same = two.find(argument.name);
      if (same == nullptr) continue;
      const std::string first = std::visit(Told{}, argument.value), second = std::visit(Told{}, same->value);
      if (first != second && !first.empty() && !second.empty())
        return fmt::format("{}'s {}: {} and {}", one.name, argument.name, first, second);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> forgotten_attributes(const Trace& trace, const SignedTrace& keys) {
  std::map<oracle::Signature, const SignedOperation*> first;
  std::vector<std::string> findings;
  const auto module_of = [&](const SignedOperation& operation) {
    return trace.modules[trace.operators[operation.operators.back()].module].path;
  };
  for (const SignedOperation& operation : keys.operations) {
    const auto [known, is_new] = first.emplace(operation.signature, &operation);
    if (is_new) continue;
    const SignedOperation& other = *known->second;
    const std::string differs = difference(trace, other, operation);
    const auto told = differs.empty() ? std::nullopt : told_otherwise(trace, other, operation);
    if (!told) continue;
    findings.push_back(fmt::format("{:.12} {} {}: the key lacks what sets {} apart from {}: {} ({})",
                                   operation.signature.hex(), operation.key.kind, fmt::join(operation.key.dims, "x"),
                                   module_of(other), module_of(operation), *told, differs));
  }
  return findings;
}

}  // namespace dooly::profiling
