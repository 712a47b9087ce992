// Whose attention answers where nobody asked for a back end.
#include "oracle/model_table.hpp"
#include "sim/profile_store.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace dooly::sim {
namespace {

using oracle::StepPlan;

StepPlan plan_of(const char* model, std::string_view backend) {
  return oracle::make_plan(oracle::find_model(model), {.backend = std::string(backend)});
}

/// The back end that is taken for a plan of fa3 where these are measured, all their attention or only their modules.
std::string taken(const char* model, std::string_view gpu, std::initializer_list<const char*> measured,
                  bool only_modules = false) {
  std::set<std::string> signatures;
  for (const char* backend : measured) {
    const StepPlan plan = plan_of(model, backend);
    for (const oracle::PlanEntry& entry : plan.entries)
      if (entry.binding == oracle::Binding::kAttention && !only_modules) signatures.insert(entry.signature.hex());
    for (const oracle::PlanModule& module : plan.modules) signatures.insert(module.signature.hex());
  }
  const auto make = [&](std::string_view backend) { return plan_of(model, backend); };
  return with_measured_backend(plan_of(model, "fa3"), gpu, make,
                               [&](const oracle::Signature& signature) { return signatures.contains(signature.hex()); })
      .backend;
}

TEST(MeasuredBackend, ThePlansOwnComesFirstThenThatOfTheGpu) {
  const char* const model = "meta-llama/Llama-3.1-8B";
  EXPECT_EQ(taken(model, "B200", {"fa2", "fa3", "flashinfer"}), "fa3");
  EXPECT_EQ(taken(model, "B200", {"fa2", "flashinfer"}), "flashinfer");
  EXPECT_EQ(taken(model, "", {"flashinfer", "fa2"}), "fa2");
  EXPECT_EQ(taken(model, "H200-SXM", {"triton"}), "triton");
  EXPECT_EQ(taken(model, "H200-SXM", {}), "fa3");
}

TEST(MeasuredBackend, AModuleThatCoversAttentionCounts) {
  EXPECT_EQ(taken("deepseek-ai/DeepSeek-V3", "H200-SXM", {"flashmla"}, true), "flashmla");
  EXPECT_EQ(taken("deepseek-ai/DeepSeek-V3", "H200-SXM", {"flashmla", "fa3"}, true), "fa3");
}

}  // namespace
}  // namespace dooly::sim
