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

const PlanBackend& find_backend(const ModelConfig& model, std::string_view name) {
  for (const PlanBackend& backend : kBackends) {
    if (backend.name == name || backend.engine_name == name) return backend;
  }
  throw OracleError(fmt::format("model {}: unknown attention backend '{}'; known: {}", model.name, name,
                                fmt::join(plan_backends(), ", ")));
}

}  // namespace

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
  return Planner(model, settings, find_backend(model, settings.backend)).plan();
}

}  // namespace dooly::oracle
