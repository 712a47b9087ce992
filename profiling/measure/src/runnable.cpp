#include "profiling_measure/runnable.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "runnable_maker.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <variant>

namespace dooly::profiling {

namespace {

struct Kind {
  std::string_view name;
  Maker make;
  std::size_t dims;
  std::set<std::string, std::less<>> attributes;  ///< that the maker knows
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> known = {
      {"linear", make_linear, 2, {"bias"}},
      {"embedding", make_embedding, 2, {}},
      {"rms_norm", make_rms_norm, 1, {"residual"}},
      {"layer_norm", make_layer_norm, 1, {}},
      {"qk_norm", make_qk_norm, 3, {"across_heads", "layer_norm"}},
      {"rope", make_rope, 3, {"interleaved"}},
      {"silu_and_mul", make_gated_activation, 1, {}},
      {"gelu_and_mul", make_gated_activation, 1, {"approximate"}},
      {"add", make_add, 1, {"terms"}},
      {"soft_cap", make_soft_cap, 1, {}},
      {"sigmoid_mul", make_sigmoid_mul, 1, {}},
      {"sample", make_sample, 1, {}},
      {"kv_write", make_kv_write, 2, {"block_size"}},
      {"attention", make_attention, 3, {"window", "scale", "soft_cap", "block_size"}},
      {"bmm", make_bmm, 3, {}},
      {"mla_kv_write", make_mla_kv_write, 2, {"block_size"}},
      {"mla_attention", make_mla_attention, 5, {"scale", "block_size"}},
      {"topk_softmax", make_topk_softmax, 2, {}},
      {"moe_experts", make_experts, 4, {}},
  };
  return known;
}

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kinds().end() ? nullptr : &*found;
}

/// Made by the engine's compiler out of plain operations: LibTorch or the engine's libraries have each of them as an
/// operator, and of norms of heads the compiler's own may be there.
bool is_compiled(const oracle::OperatorKey& key) { return key.family == "inductor"; }

bool has_plain_types(const oracle::OperatorKey& key, std::string& why) {
  static const std::set<std::string, std::less<>> plain = {"bfloat16", "float16", "float32"};
  for (const std::string& dtype : key.dtypes) {
    if (!plain.contains(dtype) || dtype != key.dtypes.front()) {
      why = fmt::format("{} with types {}: only one of bfloat16, float16, float32 throughout can be run", key.kind,
                        fmt::join(key.dtypes, ", "));
      return false;
    }
  }
  return !key.dtypes.empty();
}

bool knows_attributes(const oracle::OperatorKey& key, const Kind& kind, std::string& why) {
  for (const auto& [name, value] : key.attributes) {
    if (!kind.attributes.contains(name)) {
      why = fmt::format("{} with the attribute {}: no kernel here takes it", key.kind, name);
      return false;
    }
  }
  return true;
}

template <typename Value>
const Value* attribute(const oracle::OperatorKey& key, const char* name) {
  const auto found = key.attributes.find(name);
  if (found == key.attributes.end()) {
    return nullptr;
  }
  const auto* value = std::get_if<Value>(&found->second);
  if (value == nullptr) {
    throw ProfilingError(fmt::format("operator key of kind {}: attribute {} has the wrong type", key.kind, name));
  }
  return value;
}

}  // namespace

bool flag_of(const oracle::OperatorKey& key, const char* name, bool usual) {
  const bool* value = attribute<bool>(key, name);
  return value == nullptr ? usual : *value;
}

double number_of(const oracle::OperatorKey& key, const char* name, double usual) {
  const auto found = key.attributes.find(name);
  if (found == key.attributes.end()) {
    return usual;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
    return static_cast<double>(*whole);
  }
  return *attribute<double>(key, name);
}

std::string text_of(const oracle::OperatorKey& key, const char* name, std::string_view usual) {
  const auto* value = attribute<std::string>(key, name);
  return value == nullptr ? std::string(usual) : *value;
}

std::vector<at::Tensor> Making::activations(const std::string& name, const Inputs::Sizes& sizes) const {
  auto bytes = static_cast<double>(at::elementSize(type()));
  for (const std::int64_t size : sizes) {
    bytes *= static_cast<double>(size);
  }
  Inputs::Sizes all = {inputs.cached_copies(bytes)};
  all.insert(all.end(), sizes.begin(), sizes.end());
  return inputs.random(name, all, type()).unbind(0);
}

bool Making::flag(const char* name, bool usual) const { return flag_of(key, name, usual); }
double Making::number(const char* name, double usual) const { return number_of(key, name, usual); }
std::string Making::text(const char* name, std::string_view usual) const { return text_of(key, name, usual); }
std::int64_t Making::count(const char* name, std::int64_t usual) const {
  return static_cast<std::int64_t>(number(name, static_cast<double>(usual)));
}

namespace {

/// Of a shape.
std::string refusal(const oracle::OperatorKey& key, const KernelClaims& kernels) {
  const at::ScalarType type = scalar_type(key.dtypes.front());
  if (key.kind == "mla_attention") return kernels.refusal(latent_shape(key), type);
  if (key.kind == "attention") return kernels.refusal(attention_shape(key), type);
  if (key.kind == "moe_experts") return kernels.refusal(expert_shape(key));
  if (has_compiled_head_norms(key)) return kernels.refusal(head_shape(key), type);
  return {};
}

}  // namespace

bool can_run(const oracle::OperatorKey& key, const KernelClaims& kernels, std::string& why) {
  const Kind* kind = find_kind(key.kind);
  if (kind == nullptr) {
    why = fmt::format("no kernels for operators of kind {}", key.kind);
    return false;
  }
  if (key.dims.size() != kind->dims) {
    why = fmt::format("{} has {} dimensions, not {}", key.kind, kind->dims, key.dims.size());
    return false;
  }
  const std::string family = kernels.family(key.kind);
  if (key.family != family && !is_compiled(key)) {
    why = fmt::format("{} of the family {}: these kernels ({}) have {}", key.kind, key.family, kernels.name(),
                      family.empty() ? "none" : family);
    return false;
  }
  if (!has_plain_types(key, why) || !knows_attributes(key, *kind, why)) return false;
  const std::string refused = refusal(key, kernels);
  if (!refused.empty()) why = refused;
  return refused.empty();
}

Runnable make_runnable(const oracle::OperatorKey& key, const oracle::SamplePoint& point, Kernels& kernels,
                       Inputs& inputs) {
  if (std::string why; !can_run(key, kernels, why)) {
    throw ProfilingError(why);
  }
  Runnable runnable = find_kind(key.kind)->make({key, point, kernels, inputs});
  if (is_compiled(key) && runnable.note.empty()) {
    const bool is_vllms = kernels.family(key.kind) == "vllm-c" && !flag_of(key, "layer_norm");
    runnable.note = fmt::format("{} operator in place of one that the engine compiles",
                                is_vllms ? "the engine's own" : "LibTorch's");
  }
  return runnable;
}

}  // namespace dooly::profiling
