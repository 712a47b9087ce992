#include "profiling_taint/rule_table.hpp"

#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace dooly::profiling {

namespace {

constexpr bool kPreserving = true, kSource = true;

const std::vector<RuleRow>& rows() {
  static const std::vector<RuleRow> all = {
      // Factories
      {"empty zeros ones full rand randn randint empty_strided empty_permuted new_empty new_zeros new_ones new_full "
       "new_empty_strided resize",
       "requested sizes",
       rules::requested_sizes,
       {},
       kSource},
      {"empty_like zeros_like ones_like full_like rand_like randn_like randint_like", "like an argument",
       rules::like_argument, "self", kPreserving},
      {"normal.float_float", "requested sizes", rules::requested_sizes, {}, kSource},
      {"linspace", "requested sizes", rules::requested_sizes, "steps", kSource},
      {"histc", "requested sizes", rules::requested_sizes, "bins"},
      {"eye", "rows and columns", rules::rows_and_columns, {}, kSource},
      {"one_hot", "a dimension of classes", rules::one_hot},
      {"arange", "counted", rules::counted},
      {"range", "counted", rules::counted, "with its end"},
      {"scalar_tensor dot vdot equal trace bucketize.Scalar searchsorted.Scalar", "scalar", rules::scalar},
      {"masked_select bincount where.", "data-dependent", rules::data_dependent},  // `where` of a condition alone
      {"nonzero nonzero_static", "nonzero", rules::nonzero},
      {"_unique _unique2 unique_dim unique_consecutive", "unique", rules::unique},
      // Shape
      {"view.dtype", "view as another type", rules::view_dtype},
      {"view reshape _unsafe_view _reshape_alias flatten unflatten ravel", "merge and split", rules::view},
      {"view_as reshape_as", "merge and split", rules::reshape_like},
      {"transpose swapaxes swapdims", "transpose", rules::transpose},
      {"t numpy_T", "reversed", rules::transpose_last},
      {"mT mH matrix_H adjoint", "reversed", rules::transpose_last, "last"},
      {"permute", "permute", rules::permute},
      {"movedim moveaxis", "movedim", rules::movedim},
      {"squeeze", "squeeze", rules::squeeze},
      {"unsqueeze", "unsqueeze", rules::unsqueeze},
      {"expand expand_as broadcast_to", "expand", rules::expand},
      {"repeat tile", "repeat", rules::repeat},
      {"repeat_interleave", "repeat_interleave", rules::repeat_interleave},
      {"pad constant_pad_nd", "pad", rules::pad},
      {"as_strided as_strided_copy", "requested sizes", rules::requested_sizes},
      {"unfold unfold_copy", "windows", rules::windows},
      {"diagonal diagonal_copy", "diagonal", rules::diagonal, "self"},
      {"linalg_diagonal", "diagonal", rules::diagonal, "A"},
      {"diag_embed", "diagonal of a matrix", rules::diag_embed},
      {"diag", "diagonal, or the matrix of one", rules::diag},
      {"view_as_complex", "one dimension less", rules::rows, "self"},
      {"view_as_real", "a dimension of two", rules::parts_of_complex},
      {"meshgrid", "a dimension for each", rules::meshgrid},
      // Split and join
      {"split split_with_sizes split_copy split_with_sizes_copy unsafe_split unsafe_split_with_sizes", "split",
       rules::split},
      {"chunk tensor_split unsafe_chunk", "equal pieces", rules::chunk},
      {"glu", "half", rules::half_last, "self"},
      {"narrow narrow_copy", "narrow", rules::narrow},
      {"slice", "slice", rules::slice},
      {"select unbind", "one dimension less", rules::select},
      {"cat concat concatenate", "cat", rules::cat},
      {"hstack vstack", "cat", rules::cat_along},
      {"stack", "stack", rules::stack},
      // Index
      {"gather", "like an argument", rules::like_argument, "index"},
      {"take_along_dim", "take_along_dim", rules::take_along},
      {"index_select", "index_select", rules::index_select},
      {"index", "index", rules::index},
      {"embedding", "embedding", rules::embedding},
      {"topk", "topk", rules::topk},
      {"multinomial", "count a row", rules::drawn},
      {"bucketize", "like an argument", rules::like_argument, "self"},
      {"searchsorted", "like an argument", rules::like_argument, "self"},
      {"sort argsort cummax cummin logcumsumexp cumsum cumprod flip roll fliplr flipud tril triu scatter scatter_add "
       "scatter_reduce index_put _index_put_impl "
       "index_add index_copy index_fill softmax _softmax log_softmax _log_softmax copy fill zero normal "
       "normal_functional uniform random exponential contiguous clone detach alias lift_fresh to _to_copy type_as",
       "like an argument", rules::like_argument, "self", kPreserving},
      {"dropout layer_norm rms_norm group_norm", "like an argument", rules::like_argument, "input", kPreserving},
      // Compute
      {"linear", "linear", rules::linear},
      {"matmul mm bmm addmm baddbmm mv addmv _scaled_mm", "matmul", rules::matmul},
      {"_grouped_mm", "grouped products", rules::grouped_matmul},
      {"linalg_vecdot", "vecdot", rules::vecdot},
      {"outer ger", "outer", rules::outer},
      {"cdist", "rows of both", rules::rows_of_both, "x1 x2"},
      {"conv1d", "convolution", rules::conv1d},
      {"einsum", "einsum", rules::einsum},
      {"scaled_dot_product_attention _scaled_dot_product_attention_math", "attention", rules::attention, "query value"},
      {"native_layer_norm _fused_rms_norm", "normalised", rules::normalised},
      {"sum mean prod amax amin argmax argmin any all logsumexp norm linalg_vector_norm var std var_mean std_mean "
       "aminmax "
       "count_nonzero nanmean nansum kthvalue mode max.dim min.dim "
       "max min median",
       "reduction", rules::reduction},
      {"masked_scatter", "broadcast", rules::elementwise, "self mask", kPreserving},
      {"max.other min.other max.out min.out normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor add sub rsub "
       "mul div true_divide floor_divide fmod remainder pow maximum minimum fmax fmin "
       "where eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor "
       "bitwise_not bitwise_left_shift bitwise_right_shift __and__ __or__ __xor__ __lshift__ __rshift__ abs neg exp "
       "exp2 expm1 log log2 log1p sqrt rsqrt square reciprocal sin cos tan tanh sigmoid erf relu gelu silu mish "
       "leaky_relu complex polar real imag elu softplus hardtanh relu6 hardswish clamp clamp_min clamp_max floor ceil "
       "round trunc sign isnan "
       "isinf isfinite masked_fill lerp addcmul addcdiv nan_to_num atan2 threshold",
       "broadcast",
       rules::elementwise,
       {},
       kPreserving},
      // Libraries of the engine
      {"dooly::paged_attention", "attention", rules::attention, "q v_cache"},
      {"dooly::fused_experts dooly::triton_fused_experts", "like an argument", rules::like_argument, "x", kPreserving},
      {"dooly::triton_attention dooly::flashinfer_attention", "like an argument", rules::like_argument, "q",
       kPreserving},
      {"dooly::topk_softmax", "count a row", rules::per_row, "logits top_k num_experts_per_token"},
      {"dooly::gated_activation", "half", rules::half_last, "x"},
      {"dooly::greedy_sample", "rows", rules::rows, "logits"},
      {"dooly::all_gather", "last dimension of all ranks", rules::scaled_last, "x ranks tensor_parallel"},
      {"dooly::add_terms dooly::sigmoid_mul", "broadcast", rules::elementwise, {}, kPreserving},
      {"dooly::soft_cap", "like an argument", rules::like_argument, "x", kPreserving},
      {"dooly::latent_attention", "like an argument", rules::like_argument, "q_latent", kPreserving},
      {"dooly::expanded_attention dooly::flash_expanded_attention", "attention", rules::expanded_attention},
      {"dooly::gather_latent", "rows of a width", rules::rows_of_width, "prompt_of cache"},
      {"_C_cache_ops::gather_and_maybe_dequant_cache", "rows of a width", rules::rows_of_width,
       "token_to_seq src_cache"},
      {"dooly::add_rms_norm dooly::rope dooly::write_kv dooly::all_reduce dooly::write_latent dooly::ignore_empty "
       "dooly::merge_attention",
       "written arguments keep theirs",
       rules::keep_written,
       {},
       kPreserving},
      {"_vllm_fa3_C::fwd _vllm_fa2_C::varlen_fwd", "FlashAttention", rules::flash_attention},
      {"_vllm_fa3_C::get_scheduler_metadata", "data-dependent", rules::data_dependent},
      {"_moe_C::topk_softmax", "rows and a declared width", rules::declared_width,
       "gating_output num_experts_per_token"},
      {"_C::rms_norm", "like an argument", rules::like_argument, "input", kPreserving},
      {"_C::silu_and_mul _C::gelu_and_mul _C::gelu_tanh_and_mul", "half", rules::half_last, "input"},
      {"_C::fused_add_rms_norm _C::rotary_embedding _C_cache_ops::reshape_and_cache_flash "
       "_C_cache_ops::reshape_and_cache _C_cache_ops::concat_and_cache_mla "
       "_C::merge_attn_states _moe_C::moe_align_block_size "
       "_moe_C::moe_sum",
       "written arguments keep theirs",
       rules::keep_written,
       {},
       kPreserving},
  };
  return all;
}

using Index = std::map<std::string, const RuleRow*, std::less<>>;

Index index_rows() {
  Index index;
  for (const RuleRow& row : rows()) {
    std::string_view names = row.operators;
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      const bool spaced = name.find("::") != std::string_view::npos;
      index.emplace(spaced ? std::string(name) : fmt::format("aten::{}", name), &row);
    }
  }
  return index;
}

const RuleRow* look_up(std::string_view name) {
  static const Index index = index_rows();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

/// The row of one overload ("normal.float_float", of "float_float_out" too), else that of the name.
const RuleRow* row_of(const OperatorRecord& record) {
  std::string_view overload = record.overload;
  if (const RuleRow* exact = look_up(fmt::format("{}.{}", record.name, overload))) return exact;
  if (overload.ends_with("_out")) {
    overload.remove_suffix(4);
    if (const RuleRow* exact = look_up(fmt::format("{}.{}", record.name, overload))) return exact;
  }
  return find_rule(record.name);
}

bool is_complete(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.label.has_value(); });
}

bool same_sizes(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return x.size == y.size; });
}

/// Operands of the shape of a result hand down their labels.
Labels inherit(const RuleCall& call, std::size_t output, bool strict) {
  const OperatorRecord& record = call.record();
  const Dims& result = call.output(output);
  std::vector<std::vector<Candidate>> candidates(result.size());
  bool found = result.empty();
  for (const Argument& argument : record.arguments) {
    const auto* tensor = std::get_if<TensorRecord>(&argument.value);
    if (tensor == nullptr || !tensor->defined || !same_sizes(tensor->dims, result)) continue;
    if (argument.name == record.output_names[output] && is_complete(tensor->dims)) return labels_of(tensor->dims);
    found = true;
    for (std::size_t i = 0; i < result.size(); ++i) candidates[i].push_back({tensor->dims[i].label, argument.name});
  }
  if (!found && strict) {
    call.fail(fmt::format("result {} {} has the shape of no operand, and the operator has no rule", output,
                          dims_text(result)));
  }
  Labels labels;
  for (std::size_t i = 0; i < result.size(); ++i) {
    labels.push_back(call.agree(candidates[i], fmt::format("dimension {} of result {}", i, output)));
  }
  return labels;
}

void check(const RuleCall& call, const std::vector<Labels>& all) {
  const auto& outputs = call.record().outputs;
  if (all.size() != outputs.size()) {
    call.fail(fmt::format("its rule labels {} results, it has {}", all.size(), outputs.size()));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() != outputs[i].dims.size()) {
      call.fail(
          fmt::format("its rule gives result {} {} dimensions, it has {}", i, all[i].size(), outputs[i].dims.size()));
    }
    for (std::size_t dim = 0; dim < all[i].size(); ++dim) {
      if (!all[i][dim]) continue;
      const std::int64_t value = all[i][dim]->evaluate(call.binding());
      if (value != outputs[i].dims[dim].size) {
        call.fail(fmt::format("dimension {} of result {} is {} by its rule, which is {}, but its size is {}", dim, i,
                              all[i][dim]->text(), value, outputs[i].dims[dim].size));
      }
    }
  }
}

}  // namespace

const std::vector<RuleRow>& rule_table() { return rows(); }

const RuleRow* find_rule(std::string_view operator_name) {
  if (const RuleRow* row = look_up(operator_name)) return row;
  const bool in_place = operator_name.ends_with('_') && !operator_name.ends_with("__");
  return in_place ? look_up(operator_name.substr(0, operator_name.size() - 1)) : nullptr;
}

std::vector<Labels> label_outputs(const OperatorRecord& record, const Binding& binding, bool mapping_rules) {
  const RuleRow* row = row_of(record);
  const RuleCall call(record, binding, row == nullptr ? std::string_view() : row->parameter);
  std::vector<Labels> labels;
  if (row != nullptr && (mapping_rules || row->stays)) {
    labels = row->apply(call);
  } else {
    for (std::size_t i = 0; i < record.outputs.size(); ++i) labels.push_back(inherit(call, i, mapping_rules));
  }
  check(call, labels);
  return labels;
}

}  // namespace dooly::profiling
