#include "profiling_trace/signing.hpp"

#include "call_reader.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/step_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

namespace dooly::profiling {

namespace {

using oracle::OperatorKey;

/// The half of qk_norm that came first.
struct QueryNorm {
  std::size_t op = 0;
  std::uint64_t heads = 0;
};

struct SigningState {
  const Trace& trace;
  std::size_t op = 0;  ///< the call that is signed
  std::optional<QueryNorm> query_norm;
  std::optional<std::size_t> widened_logits;  ///< a conversion whose result a choice may follow
  std::optional<std::size_t> selected_rows;   ///< the copy of the rows that a token is chosen for
  std::vector<std::size_t> extra;             ///< earlier calls that belong to the key
  std::string family;                         ///< attention has no default
};

using KeyOf = std::optional<OperatorKey> (*)(const CallReader& call, SigningState& state);

std::optional<OperatorKey> linear(const CallReader& call, SigningState&) {
  call.check_rows("input");
  const oracle::LinearTypes types{call.dtype("input"), call.dtype("weight"), call.dtype("input")};
  return oracle::linear_key(types, call.model_size("weight", 1), call.model_size("weight", 0), call.has("bias"));
}

std::optional<OperatorKey> embedding(const CallReader& call, SigningState&) {
  call.check_rows("indices");
  return oracle::embedding_key(call.dtype("weight"), call.model_size("weight", 0), call.model_size("weight", 1));
}

/// Norms of heads: which heads the labels say, and how many.
std::optional<OperatorKey> head_norm(const CallReader& call, SigningState& state, const TensorRecord& x,
                                     bool layer_norm) {
  const bool across = x.dims.size() == 2;
  const auto symbols = call.label(x, 1).symbols();
  const bool of_queries = symbols.count("num_heads") == 1, of_keys = symbols.count("num_kv_heads") == 1;
  const auto head_dim = state.trace.binding.find("head_dim");
  if ((!of_queries && !of_keys && x.dims.size() < 3) || head_dim == state.trace.binding.end()) return std::nullopt;
  const std::uint64_t dim = static_cast<std::uint64_t>(head_dim->second);
  const std::uint64_t heads = across ? call.model_size(x, 1) / dim : call.model_size(x, 1);
  if (!state.query_norm) {
    state.query_norm = QueryNorm{state.op, heads};
    return OperatorKey{};  // its other half is still to come
  }
  oracle::QkNormWork work;
  work.heads = state.query_norm->heads;
  work.kv_heads = heads;
  work.head_dim = dim;
  work.across_heads = across;
  work.layer_norm = layer_norm;
  state.extra = {state.query_norm->op};
  state.query_norm.reset();
  return oracle::qk_norm_key(CallReader::dtype_of(x), work);
}

std::optional<OperatorKey> rms_norm(const CallReader& call, SigningState& state) {
  const TensorRecord& x = call.tensor("input");
  call.check_rows(x);
  if (auto key = head_norm(call, state, x, false)) return key;
  return oracle::rms_norm_key(CallReader::dtype_of(x), call.model_size(x, -1), false);
}

std::optional<OperatorKey> layer_norm(const CallReader& call, SigningState& state) {
  const TensorRecord& x = call.tensor("input");
  call.check_rows(x);
  if (auto key = head_norm(call, state, x, true)) return key;
  return oracle::layer_norm_key(CallReader::dtype_of(x), call.model_size(x, -1), call.has("bias"));
}

std::optional<OperatorKey> add_rms_norm(const CallReader& call, SigningState&) {
  call.check_rows("x|input");
  return oracle::rms_norm_key(call.dtype("x|input"), call.model_size("x|input", -1), true);
}

OperatorKey rope_of(const CallReader& call, std::string_view q, std::string_view k, std::string_view table,
                    std::int64_t head_dim, bool interleaved) {
  call.check_rows(q);
  const auto heads = [&](std::string_view name) {
    const bool apart = call.tensor(name).dims.size() == 3;
    return call.model_size(name, 1) / (apart ? 1 : static_cast<std::uint64_t>(head_dim));
  };
  return oracle::rope_key(call.dtype(q), heads(q), heads(k), call.model_size(table, 1), interleaved);
}

std::optional<OperatorKey> rope(const CallReader& call, SigningState&) {
  return rope_of(call, "q", "k", "cos_sin", call.integer("head_dim"), call.flag("interleaved"));
}

std::optional<OperatorKey> vllm_rope(const CallReader& call, SigningState&) {
  return rope_of(call, "query", "key", "cos_sin_cache", call.integer("head_size"), !call.flag("is_neox"));
}

std::optional<OperatorKey> gated_activation(const CallReader& call, SigningState&) {
  call.check_rows("x");
  const std::string kind = call.text("kind");
  const bool tanh = kind == "gelu_tanh_and_mul";
  return oracle::activation_key(tanh ? "gelu_and_mul" : kind, call.dtype("x"), call.model_size("x", -1) / 2,
                                tanh ? "tanh" : "none");
}

template <bool kTanh, bool kSilu>
std::optional<OperatorKey> vllm_activation(const CallReader& call, SigningState&) {
  call.check_rows("input");
  return oracle::activation_key(kSilu ? "silu_and_mul" : "gelu_and_mul", call.dtype("input"),
                                call.model_size("input", -1) / 2, kTanh ? "tanh" : "none");
}

OperatorKey kv_write_of(const CallReader& call, std::string_view key, std::string_view cache) {
  call.check_rows(key);
  return oracle::kv_write_key(call.dtype(key), call.dtype(cache), call.model_size(key, 1), call.model_size(key, 2),
                              static_cast<std::uint32_t>(call.model_size(cache, 1)));
}

std::optional<OperatorKey> kv_write(const CallReader& call, SigningState&) {
  return kv_write_of(call, "k|key", "k_cache|key_cache");
}

oracle::AttentionWork attention_work(const CallReader& call, std::string_view cache) {
  call.check_rows("q");
  oracle::AttentionWork work;
  work.heads = call.model_size("q", 1);
  work.kv_heads = call.model_size(cache, 2);
  work.head_dim = call.model_size("q", 2);
  work.block_size = static_cast<std::uint32_t>(call.model_size(cache, 1));
  return work;
}

std::optional<OperatorKey> attention(const CallReader& call, SigningState& state) {
  oracle::AttentionWork work = attention_work(call, "k_cache");
  work.window = static_cast<std::uint32_t>(call.integer("window"));
  work.scale = call.number("scale");
  work.soft_cap = call.number("soft_cap");
  return oracle::attention_key(call.dtype("q"), call.dtype("k_cache"), work, state.family);
}

OperatorKey latent_key(const CallReader& call, const SigningState& state, std::string_view q, std::string_view scale);

/// FlashAttention of the engine: windows count the tokens before the query.
std::optional<OperatorKey> flash_attention(const CallReader& call, SigningState& state) {
  if (call.has("q_v")) return latent_key(call, state, "q_v", "softmax_scale");
  oracle::AttentionWork work = attention_work(call, "k");
  const std::int64_t left = call.integer("window_size_left");
  work.window = left < 0 ? 0 : static_cast<std::uint32_t>(left) + 1;
  work.scale = call.number("softmax_scale");
  work.soft_cap = call.number("softcap");
  return oracle::attention_key(call.dtype("q"), call.dtype("k"), work, state.family);
}

// --- latent attention

std::optional<OperatorKey> latent_write(const CallReader& call, SigningState&) {
  call.check_rows("latent|kv_c");
  return oracle::mla_kv_write_key(call.dtype("latent|kv_c"), call.dtype("cache|kv_cache"),
                                  call.model_size("latent|kv_c", 1), call.model_size("k_rope|k_pe", 1),
                                  static_cast<std::uint32_t>(call.model_size("cache|kv_cache", 1)));
}

/// Per head: [heads, rows, k] × [heads, k, n].
std::optional<OperatorKey> heads_product(const CallReader& call, SigningState&) {
  const std::string dtype = call.dtype("self");
  return oracle::bmm_key({dtype, dtype, dtype}, call.model_size("mat2", 0), call.model_size("mat2", 1),
                         call.model_size("mat2", 2));
}

/// All of a layer's attention has this key: each of its calls shows a part of the sizes alone.
OperatorKey latent_key(const CallReader& call, const SigningState& state, std::string_view q, std::string_view scale) {
  call.check_rows(q);
  const auto size = [&](const char* name) {
    const auto found = state.trace.binding.find(name);
    if (found == state.trace.binding.end())
      throw ProfilingError(fmt::format("cannot sign latent attention: no size {}", name));
    return static_cast<std::uint64_t>(found->second);
  };
  oracle::MlaWork work;
  work.heads = call.model_size(q, 1);
  work.kv_lora_rank = size("kv_lora_rank");
  work.qk_nope_dim = size("qk_nope_dim");
  work.qk_rope_dim = size("qk_rope_dim");
  work.v_dim = size("v_dim");
  work.scale = call.number(scale);
  work.block_size = static_cast<std::uint32_t>(size("block_size"));
  return oracle::mla_attention_key(call.dtype(q), call.dtype(q), work, "");
}

std::optional<OperatorKey> latent_attention(const CallReader& call, SigningState& state) {
  return latent_key(call, state, "q_latent", "scale");
}

std::optional<OperatorKey> expanded_attention(const CallReader& call, SigningState& state) {
  return latent_key(call, state, "q", "scale");
}

/// Copies around attention over expanded heads belong to it.
std::optional<OperatorKey> latent_copy(const CallReader&, SigningState&) {
  OperatorKey part;
  part.kind = "mla_attention";
  return part;
}

std::optional<OperatorKey> routing(const CallReader& call, SigningState& state) {
  const std::string_view logits = call.has("logits") ? "logits" : "gating_output";
  call.check_rows(logits);
  oracle::RoutingWork work;
  work.experts = call.model_size(logits, 1);
  const OperatorRecord& record = state.trace.operators[state.op].record;
  work.top_k = call.model_size(record.outputs.at(0), 1);
  return oracle::topk_softmax_key(call.dtype(logits), work);
}

std::optional<OperatorKey> experts(const CallReader& call, SigningState&) {
  call.check_rows("x");
  oracle::ExpertWork work;
  work.hidden = call.model_size("x", 1);
  work.intermediate = call.model_size("down", 2);
  work.local_experts = work.experts = call.model_size("down", 0);
  work.top_k = call.model_size("ids", 1);
  return oracle::moe_experts_key(call.dtype("x"), call.dtype("gate_up"), work);
}

std::optional<OperatorKey> add_terms(const CallReader& call, SigningState&) {
  const TensorRecord& first = call.list_item("terms", 0);
  call.check_rows(first);
  return oracle::elementwise_key("add", CallReader::dtype_of(first), call.model_size(first, -1),
                                 static_cast<std::uint32_t>(call.list_size("terms")));
}

template <const char* kKind>
std::optional<OperatorKey> elementwise(const CallReader& call, SigningState&) {
  call.check_rows("x");
  return oracle::elementwise_key(kKind, call.dtype("x"), call.model_size("x", -1));
}
constexpr char kSoftCap[] = "soft_cap";
constexpr char kSigmoidMul[] = "sigmoid_mul";

template <const char* kKind>
std::optional<OperatorKey> collective(const CallReader& call, SigningState&) {
  call.check_rows("x");
  return oracle::collective_key(kKind, call.dtype("x"), static_cast<std::uint64_t>(call.integer("ranks")));
}
constexpr char kAllReduce[] = "all_reduce";
constexpr char kAllGather[] = "all_gather";

/// The step copies the rows whose logits are wanted: the sampler's first part.
std::optional<OperatorKey> select_rows(const CallReader& call, SigningState& state) {
  call.check_rows("self");
  call.check_rows("index");
  if (state.selected_rows) return std::nullopt;  // a second selection is nobody's
  state.selected_rows = state.op;
  return OperatorKey{};
}

void take_selected_rows(SigningState& state) {
  if (state.selected_rows) state.extra.push_back(*state.selected_rows);
  state.selected_rows.reset();
}

std::optional<OperatorKey> greedy_sample(const CallReader& call, SigningState& state) {
  call.check_rows("logits");
  take_selected_rows(state);
  return oracle::sample_key(call.dtype("logits"), call.model_size("logits", 1));
}

/// vLLM widens logits, then takes the arg max: the key has the type before.
std::optional<OperatorKey> arg_max(const CallReader& call, SigningState& state) {
  call.check_rows("self");
  std::string dtype = call.dtype("self");
  take_selected_rows(state);
  if (state.widened_logits) {
    state.extra.push_back(*state.widened_logits);
    dtype = CallReader(state.trace.operators[*state.widened_logits].record).dtype("self");
  }
  return oracle::sample_key(dtype, call.model_size("self", 1));
}

struct SignRow {
  std::string_view operators;  ///< names, separated by blanks
  KeyOf key;                   ///< null: runs no kernel
};

constexpr std::array kRows{
    SignRow{"aten::view aten::reshape aten::_unsafe_view aten::flatten aten::unflatten aten::transpose aten::permute "
            "aten::t aten::squeeze aten::unsqueeze aten::expand aten::split aten::split_with_sizes aten::chunk "
            "aten::narrow aten::slice aten::select aten::unbind aten::alias aten::detach aten::empty aten::empty_like "
            "aten::new_empty",
            nullptr},
    SignRow{"aten::linear", linear},
    SignRow{"aten::embedding", embedding},
    SignRow{"aten::rms_norm _C::rms_norm", rms_norm},
    SignRow{"aten::layer_norm", layer_norm},
    SignRow{"dooly::add_rms_norm_ _C::fused_add_rms_norm", add_rms_norm},
    SignRow{"dooly::rope_", rope},
    SignRow{"_C::rotary_embedding", vllm_rope},
    SignRow{"dooly::gated_activation", gated_activation},
    SignRow{"_C::silu_and_mul", vllm_activation<false, true>},
    SignRow{"_C::gelu_and_mul", vllm_activation<false, false>},
    SignRow{"_C::gelu_tanh_and_mul", vllm_activation<true, false>},
    SignRow{"dooly::write_kv_ _C_cache_ops::reshape_and_cache_flash", kv_write},
    SignRow{"dooly::paged_attention", attention},
    SignRow{"_vllm_fa3_C::fwd _vllm_fa2_C::varlen_fwd dooly::triton_attention dooly::flashinfer_attention",
            flash_attention},
    SignRow{"dooly::write_latent_ _C_cache_ops::concat_and_cache_mla", latent_write},
    SignRow{"aten::bmm", heads_product},
    SignRow{"dooly::latent_attention", latent_attention},
    SignRow{"dooly::expanded_attention dooly::flash_expanded_attention", expanded_attention},
    SignRow{"dooly::gather_latent _C_cache_ops::gather_and_maybe_dequant_cache dooly::ignore_empty_ "
            "dooly::merge_attention_ _C::merge_attn_states aten::copy_",
            latent_copy},
    SignRow{"dooly::topk_softmax _moe_C::topk_softmax", routing},
    SignRow{"dooly::fused_experts dooly::triton_fused_experts", experts},
    SignRow{"dooly::add_terms", add_terms},
    SignRow{"dooly::soft_cap", elementwise<kSoftCap>},
    SignRow{"dooly::sigmoid_mul", elementwise<kSigmoidMul>},
    SignRow{"dooly::all_reduce_", collective<kAllReduce>},
    SignRow{"dooly::all_gather", collective<kAllGather>},
    SignRow{"aten::index_select", select_rows},
    SignRow{"dooly::greedy_sample", greedy_sample},
    SignRow{"aten::argmax", arg_max},
};

const SignRow* find_row(const std::string& name) {
  static const auto index = [] {
    std::map<std::string, const SignRow*, std::less<>> rows;
    for (const SignRow& row : kRows) {
      std::istringstream names{std::string(row.operators)};
      for (std::string one; names >> one;) rows.emplace(one, &row);
    }
    return rows;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

/// A reshape that had to copy ran a kernel: its result has not the operand's memory. Records do not know; views of what
/// operators of a step hand on never do.
bool widens(const OperatorRecord& record) {
  return (record.name == "aten::to" || record.name == "aten::_to_copy") && record.outputs.size() == 1 &&
         record.outputs[0].dtype == "Float";
}

}  // namespace

namespace {

/// Outside of the parts of latent attention, and of the projection that they call.
std::size_t attention_around(const Trace& trace, std::size_t op) {
  std::size_t module = trace.operators[op].module;
  while (trace.modules[module].kind == kLatentPart || trace.modules[module].kind == "Linear")
    module = trace.modules[module].parent;
  return module;
}

/// Latent attention runs in parts, and expands new tokens and those of contexts one after the other: one operation of
/// a layer each. Null: nothing that was begun.
SignedOperation* begun(const Trace& trace, SignedTrace& signed_so_far, const OperatorKey& key, std::size_t op) {
  if (key.kind != "mla_attention" && key.kind != "linear") return nullptr;
  const std::size_t around = attention_around(trace, op);
  if (trace.modules[around].kind != kLatentCore) return nullptr;
  for (auto whole = signed_so_far.operations.rbegin(); whole != signed_so_far.operations.rend(); ++whole) {
    if (attention_around(trace, whole->operators.back()) != around) continue;
    if (whole->key == key || (key.dims.empty() && whole->key.kind == key.kind)) return &*whole;
  }
  return nullptr;
}

}  // namespace

FamilyNames families_of(const Kernels& kernels) {
  return [&kernels](std::string_view kind) { return kernels.family(kind); };
}

FamilyNames plan_families(const oracle::ModelConfig& config, std::string_view attention,
                          std::uint32_t tensor_parallel) {
  constexpr std::uint32_t kWidestFa3Head = 256;  // beyond, the engine takes FlashAttention 4
  const bool wide = attention == "fa3" && config.layers.front().attention.head_dim > kWidestFa3Head;
  const bool torch = attention == "torch";
  const bool custom = tensor_parallel <= 8 && tensor_parallel % 2 == 0;
  return [=, backend = std::string(attention), latent = std::string(oracle::latent_family(attention)),
          unit_offset = config.unit_offset_norm](std::string_view kind) {
    if (kind == "attention") return wide ? std::string("fa4") : backend;
    if (kind == "mla_attention") return latent;
    if (kind == "rms_norm" && unit_offset && !torch) return std::string("inductor");
    if (kind == "all_reduce" && custom) return std::string("vllm-custom");
    if (torch && kind != "all_reduce" && kind != "all_gather") return std::string("torch");
    return std::string();
  };
}

SignedTrace sign(const Trace& trace, const FamilyNames& families) {
  SignedTrace result;
  SigningState state{trace, 0, {}, {}, {}, {}, families("attention")};
  for (state.op = 0; state.op < trace.operators.size(); ++state.op) {
    const OperatorRecord& record = trace.operators[state.op].record;
    const SignRow* row = find_row(record.name);
    if (row == nullptr) {
      if (widens(record)) state.widened_logits = state.op;
      result.unsigned_.push_back(state.op);
      continue;
    }
    if (row->key == nullptr) {
      result.views.push_back(state.op);
      continue;
    }
    state.extra.clear();
    auto key = row->key(CallReader(record), state);
    if (!key) result.unsigned_.push_back(state.op);
    if (!key || key->kind.empty()) continue;  // a part, the rest of which follows
    if (const std::string family = families(key->kind); !family.empty()) key->family = family;
    if (SignedOperation* whole = begun(trace, result, *key, state.op)) {
      whole->operators.push_back(state.op);
      continue;
    }
    if (key->dims.empty()) {  // part of what no call has begun
      result.unsigned_.push_back(state.op);
      continue;
    }
    SignedOperation& operation = result.operations.emplace_back();
    operation.signature = oracle::signature_of(*key);
    operation.key = std::move(*key);
    operation.operators = state.extra;
    operation.times = trace.operators[state.op].times;
    operation.operators.push_back(state.op);
    for (const std::size_t earlier : state.extra) std::erase(result.unsigned_, earlier);
    state.widened_logits.reset();
  }
  if (state.query_norm) result.unsigned_.push_back(state.query_norm->op);
  if (state.selected_rows) result.unsigned_.push_back(*state.selected_rows);
  return result;
}

std::vector<std::string> family_findings(const Trace& trace, const SignedTrace& keys) {
  std::vector<std::string> findings;
  for (const SignedOperation& operation : keys.operations) {
    std::vector<std::string> symbols;
    for (const std::size_t op : operation.operators)
      std::copy_if(trace.operators[op].kernels.begin(), trace.operators[op].kernels.end(), std::back_inserter(symbols),
                   [](const std::string& name) { return name != "copy" && name != "fill"; });  // are no kernels
    const std::string what = oracle::family_finding(operation.key, oracle::kernel_family(symbols));
    if (what.empty()) continue;
    std::string line = fmt::format("{} {}: {}", operation.key.kind, fmt::join(operation.key.dims, "x"), what);
    if (std::find(findings.begin(), findings.end(), line) == findings.end()) findings.push_back(std::move(line));
  }
  return findings;
}

}  // namespace dooly::profiling
