#include "oracle/step_plan.hpp"

#include "oracle/oracle_error.hpp"
#include "planner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>

namespace dooly::oracle {

namespace {

constexpr std::array<PlanBackend, 7> kBackends{{{"fa2", "FLASH_ATTN_2", "fa2-mla"},
                                                {"fa3", "FLASH_ATTN", "fa3-mla"},
                                                {"fa4", "FLASH_ATTN_4", "fa4-mla"},
                                                {"flashinfer", "FLASHINFER", "flashinfer-mla"},
                                                {"flashmla", "FLASHMLA", "flashmla"},
                                                {"triton", "TRITON_ATTN", "triton-mla"},
                                                {kTorchBackend, "TORCH_SDPA", kTorchBackend}}};

const PlanBackend& find_backend(const std::string& model, std::string_view name) {
  for (const PlanBackend& backend : kBackends) {
    if (backend.name == name || backend.engine_name == name) return backend;
  }
  throw OracleError(fmt::format("model {}: unknown attention backend '{}'; known: {}", model, name,
                                fmt::join(plan_backends(), ", ")));
}

/// The key of an attention operator or module of one back end, as another's; of operators that are everybody's, as it
/// is.
OperatorKey with_backend(OperatorKey key, const PlanBackend& from, const PlanBackend& to) {
  if (key.kind == "attention" && key.dims.size() > 2)
    key.family = attention_family(to, key.dims[2]);
  else if (key.family == from.latent)
    key.family = to.latent;
  return key;
}

}  // namespace

std::string_view latent_family(std::string_view backend) { return find_backend("any", backend).latent; }

std::uint32_t longest_absorbed(std::string_view latent_family) {
  constexpr std::uint32_t kFlashAttention = 512;  // flashattn_mla.py of vLLM 0.26
  return latent_family == "fa3-mla" ? kFlashAttention : 1;
}

std::string_view binding_name(Binding binding) {
  switch (binding) {
    case Binding::kTokens: return "tokens";
    case Binding::kLogitsRows: return "logits_rows";
    case Binding::kAttention: return "attention";
    case Binding::kExperts: return "experts";
    case Binding::kCollective: return "collective";
    case Binding::kPrefillTokens: return "prefill_tokens";
    case Binding::kDecodeTokens: return "decode_tokens";
  }
  throw OracleError("unknown binding");
}

std::vector<std::string_view> plan_backends() {
  std::vector<std::string_view> names;
  for (const PlanBackend& backend : kBackends) names.push_back(backend.name);
  return names;
}

std::vector<std::uint32_t> stage_layers(std::uint32_t layers, std::uint32_t stages) {
  std::vector<std::uint32_t> shares(stages, layers / stages);
  const std::uint32_t rest = layers % stages;  // at most stages - 1: the last stage, which has the head, gets none
  for (std::uint32_t i = 0; i < rest; ++i) shares[stages - 2 - i] += 1;
  return shares;
}

StepPlan make_plan(const ModelConfig& model, const PlanSettings& settings) {
  return Planner(model, settings, find_backend(model.name, settings.backend)).plan();
}

StepPlan with_backend(StepPlan plan, std::string_view backend) {
  const PlanBackend& from = find_backend(plan.model, plan.backend);
  const PlanBackend& to = find_backend(plan.model, backend);
  if (from.name == to.name) return plan;
  if (from.name == kTorchBackend)
    throw OracleError(fmt::format("model {}: a plan of torch cannot be made one of {}", plan.model, to.name));
  plan.backend = to.name;
  for (PlanEntry& entry : plan.entries)
    if (entry.binding == Binding::kAttention) entry.key = with_backend(entry.key, from, to);
  for (PlanModule& module : plan.modules) {
    module.key = with_backend(module.key, from, to);
    module.signature = signature_of(module.key);
  }
  if (to.name == kTorchBackend) use_torch_kernels(plan);
  for (PlanEntry& entry : plan.entries) entry.signature = signature_of(entry.key);
  return plan;
}

}  // namespace dooly::oracle
