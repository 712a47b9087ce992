#include "profiling_taint/rule_table.hpp"
#include "profiling_taint/taint_error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dooly::profiling {
namespace {

const Binding kBinding = {{"T", 7},
                          {"N", 6},
                          {"K", 2},
                          {"D", 5},
                          {"I", 11},
                          {"E", 8},
                          {"B", 30},
                          {"S", 16},
                          {"num_experts_per_token", 4},
                          {"tensor_parallel", 9}};

Dim symbol(const char* name) {
  return {kBinding.at(name), Expression::symbol(name, name[0] == 'T' ? Origin::kRequest : Origin::kModel)};
}
Dim times(std::int64_t factor, const Dim& dim) { return {factor * dim.size, Expression(factor) * *dim.label}; }
Argument tensor(const char* name, Dims dims, bool written = false) {
  return {name, TensorRecord{std::move(dims), "BFloat16", true}, written};
}
TensorRecord sized(const std::vector<std::int64_t>& sizes) {
  TensorRecord record{{}, "BFloat16", true};
  for (const std::int64_t size : sizes) record.dims.push_back({size, std::nullopt});
  return record;
}

const Dim T = symbol("T"), N = symbol("N"), K = symbol("K"), D = symbol("D"), I = symbol("I"), E = symbol("E"),
          B = symbol("B"), S = symbol("S");

struct Case {
  OperatorRecord record;
  std::string expected;
};

OperatorRecord call(const char* name, std::vector<Argument> arguments, std::vector<TensorRecord> outputs,
                    std::vector<std::string> output_names = {}) {
  output_names.resize(outputs.size());
  return {name, "", std::move(arguments), std::move(outputs), std::move(output_names)};
}

std::vector<Case> cases() {
  const TensorRecord tokens_by_width = sized({7, 11});
  return {
      {call("dooly::paged_attention",
            {tensor("q", {T, N, D}), tensor("k_cache", {B, S, K, D}), tensor("v_cache", {B, S, K, D})},
            {sized({7, 6, 5})}),
       "T, N, D"},
      {call("dooly::fused_experts",
            {tensor("x", {T, I}), tensor("gate_up", {E, times(2, D), I}), tensor("down", {E, I, D})},
            {tokens_by_width}),
       "T, I"},
      {call("dooly::triton_fused_experts",
            {tensor("x", {T, I}), tensor("gate_up", {E, times(2, D), I}), tensor("down", {E, I, D})},
            {tokens_by_width}),
       "T, I"},
      {call("dooly::triton_attention", {tensor("q", {T, N, D}), tensor("k", {B, S, K, D}), tensor("v", {B, S, K, D})},
            {sized({7, 6, 5})}),
       "T, N, D"},
      {call("dooly::flashinfer_attention",
            {tensor("q", {T, N, D}), tensor("k", {B, S, K, D}), tensor("v", {B, S, K, D})}, {sized({7, 6, 5})}),
       "T, N, D"},
      {call("dooly::topk_softmax", {tensor("logits", {T, E}), {"top_k", Dim{4, std::nullopt}, false}},
            {sized({7, 4}), sized({7, 4})}),
       "T, num_experts_per_token; T, num_experts_per_token"},
      {call("dooly::topk_softmax", {tensor("logits", {T, E}), {"top_k", Dim{3, std::nullopt}, false}},
            {sized({7, 3}), sized({7, 3})}),
       "T, ?; T, ?"},
      {call("dooly::gated_activation", {tensor("x", {T, times(2, I)})}, {tokens_by_width}), "T, I"},
      {call("dooly::greedy_sample", {tensor("logits", {T, I})}, {sized({7})}), "T"},
      {call("dooly::all_gather", {tensor("x", {T, I}), {"ranks", Dim{9, std::nullopt}, false}}, {sized({7, 99})}),
       "T, I*tensor_parallel"},
      {call("dooly::add_terms",
            {{"terms", std::vector<TensorRecord>{{{T, I}, "Float", true}, {{T, I}, "Float", true}}, false}},
            {tokens_by_width}),
       "T, I"},
      {call("dooly::soft_cap", {tensor("x", {T, I})}, {tokens_by_width}), "T, I"},
      {call("dooly::add_rms_norm_",
            {tensor("x", {T, I}, true), tensor("residual", {T, I}, true), tensor("weight", {I})},
            {tokens_by_width, tokens_by_width}, {"x", "residual"}),
       "T, I; T, I"},
      {call("_C::rms_norm",
            {tensor("result", sized({7, 11}).dims, true), tensor("input", {T, I}), tensor("weight", {I})},
            {tokens_by_width}, {"result"}),
       "T, I"},
      {call("_C::silu_and_mul", {tensor("result", sized({7, 11}).dims, true), tensor("input", {T, times(2, I)})},
            {tokens_by_width}, {"result"}),
       "T, I"},
      {call("_vllm_fa3_C::fwd", {tensor("q", {T, N, D}, true), tensor("k", {B, S, K, D}), tensor("v", {B, S, K, D})},
            {sized({7, 6, 5}), sized({6, 7}), sized({0}), sized({7, 6, 5})}, {"", "", "", "q"}),
       "T, N, D; N, T; 0; T, N, D"},
      {call("_vllm_fa3_C::get_scheduler_metadata", {tensor("seqused_k", {T})}, {sized({33})}), "?"},
      {call("_moe_C::topk_softmax",
            {tensor("topk_weights", sized({7, 4}).dims, true), tensor("topk_indices", sized({7, 4}).dims, true),
             tensor("gating_output", {T, E})},
            {sized({7, 4}), sized({7, 4})}, {"topk_weights", "topk_indices"}),
       "T, num_experts_per_token; T, num_experts_per_token"},
      {call("_C_cache_ops::reshape_and_cache_flash",
            {tensor("key", {T, K, D}), tensor("key_cache", {B, S, K, D}, true)}, {sized({30, 16, 2, 5})},
            {"key_cache"}),
       "B, S, K, D"},
  };
}

TEST(LibraryRules, LabelWhatTheyShould) {
  for (const Case& one : cases()) {
    std::string found;
    for (const Labels& labels : label_outputs(one.record, kBinding)) {
      found += found.empty() ? "" : "; ";
      for (std::size_t i = 0; i < labels.size(); ++i) {
        found += (i == 0 ? "" : ", ") + (labels[i] ? labels[i]->text() : "?");
      }
    }
    EXPECT_EQ(found, one.expected) << one.record.name;
  }
}

TEST(LibraryRules, ASizeThatContradictsTheRuleIsAnError) {
  const OperatorRecord wrong = call("dooly::soft_cap", {tensor("x", {T, I})}, {sized({7, 12})});
  EXPECT_THROW((void)label_outputs(wrong, kBinding), TaintError);
}

}  // namespace
}  // namespace dooly::profiling
