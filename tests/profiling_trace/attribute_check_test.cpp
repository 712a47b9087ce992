#include "profiling_trace/attribute_check.hpp"

#include "profiling_trace/trace_model.hpp"

#include "oracle/model_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::profiling {
namespace {

class ForgottenAttributes : public ::testing::TestWithParam<const char*> {
 protected:
  ForgottenAttributes() {
    const ModelFile file{oracle::find_model(GetParam()), {}};
    TraceSettings settings;
    settings.batch = mixed_batch();
    trace = trace_model(file.config, file.numbers, *kernels, settings);
    keys = sign(trace, plan_families(file.config, "fa3", 1));
  }
  std::vector<std::string> findings() const { return forgotten_attributes(trace, keys); }
  /// The second operation of a kind that has the signature of an earlier one.
  const SignedOperation& again(const char* kind) const {
    for (const SignedOperation& operation : keys.operations) {
      if (operation.key.kind != kind) continue;
      const auto same = [&](const SignedOperation& other) { return other.signature == operation.signature; };
      const auto first = std::find_if(keys.operations.begin(), keys.operations.end(), same);
      if (&*first != &operation) return operation;
    }
    throw std::runtime_error("no two of a kind");
  }
  std::unique_ptr<Kernels> kernels = make_torch_kernels();
  Trace trace;
  SignedTrace keys;
};

TEST_P(ForgottenAttributes, AreNoneHoweverFarTimesAndKernelsLieApart) {
  for (std::size_t op = 0; op < trace.operators.size(); ++op) {
    trace.operators[op].seconds = 1e-4 * static_cast<double>(1 + op % 7) * trace.operators[op].times;
    trace.operators[op].kernels = {"kernel" + std::to_string(op % 5)};
  }
  EXPECT_EQ(findings(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Models, ForgottenAttributes,
                         ::testing::Values("meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024",
                                           "Qwen/Qwen3-30B-A3B", "google/gemma-2-9b-it"));

class OneForgotten : public ForgottenAttributes {
 protected:
  OneForgotten() {
    TracedOperator& call = trace.operators[again("rms_norm").operators.back()];
    for (Argument& argument : call.record.arguments)
      if (auto* number = std::get_if<double>(&argument.value); number != nullptr && name.empty())
        name = argument.name, *number *= 2;
    changed = &call;
    original = &trace.operators[first().operators.back()];
  }
  const SignedOperation& first() const {
    const auto signature = again("rms_norm").signature;
    return *std::find_if(keys.operations.begin(), keys.operations.end(),
                         [&](const SignedOperation& other) { return other.signature == signature; });
  }
  std::string name;
  TracedOperator* changed = nullptr;
  TracedOperator* original = nullptr;
};

TEST_P(OneForgotten, IsNamedWhereOtherKernelsFollow) {
  ASSERT_FALSE(name.empty());
  EXPECT_EQ(findings(), std::vector<std::string>());  // nobody timed it
  original->kernels = {"a"};
  changed->kernels = {"a"};
  EXPECT_EQ(findings(), std::vector<std::string>());
  changed->kernels = {"b"};
  ASSERT_EQ(findings().size(), 1U);
  EXPECT_NE(findings()[0].find("'s " + name + ": "), std::string::npos) << findings()[0];
  EXPECT_NE(findings()[0].find("(kernels a and b)"), std::string::npos) << findings()[0];
}

TEST_P(OneForgotten, IsNamedWhereOtherTimesFollow) {
  original->seconds = 40e-6 * original->times;
  changed->seconds = 42e-6 * changed->times;
  EXPECT_EQ(findings(), std::vector<std::string>());
  changed->seconds = 80e-6 * changed->times;
  ASSERT_EQ(findings().size(), 1U);
  EXPECT_NE(findings()[0].find("(40.0 and 80.0 us)"), std::string::npos) << findings()[0];
}

INSTANTIATE_TEST_SUITE_P(Models, OneForgotten, ::testing::Values("meta-llama/Llama-3.1-8B"));

}  // namespace
}  // namespace dooly::profiling
