// A model computes with the operators that its step plan lists, in the plan's order.
#include "tiny_models.hpp"

#include "oracle/step_plan.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace dooly::profiling {
namespace {

std::string words_of(std::string_view kind, const std::vector<std::int64_t>& dims, std::string_view more = "") {
  return fmt::format("{} {}{}", kind, fmt::join(dims, "x"), more);
}

class RecordingLatent final : public LatentKernels {
 public:
  RecordingLatent(LatentKernels& inner, std::vector<std::string>& calls) : inner_(inner), calls_(calls) {}
  void write(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache, const at::Tensor& slots) override {
    calls_.push_back(words_of("mla_kv_write", {latent.size(1), k_rope.size(1)}));
    inner_.write(latent, k_rope, cache, slots);
  }
  void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) override {
    calls_.push_back(words_of("bmm", weight.sizes().vec()));
    inner_.multiply_heads(out, x, weight);
  }
  at::Tensor attend_latent(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                           const AttentionMetadata& metadata, const LatentShape& shape) override {
    calls_.push_back(words_of("mla_attention", {shape.heads, shape.rank, shape.nope, shape.rope, shape.value}));
    return inner_.attend_latent(q_latent, q_rope, cache, metadata, shape);
  }
  at::Tensor schedule(const AttentionMetadata&, const LatentShape&, at::ScalarType) override { return {}; }
  PartialAttention attend_expanded(const at::Tensor& q, const ExpandedKeys& keys, const PromptKeys& where,
                                   const LatentShape& shape, bool causal) override {
    return inner_.attend_expanded(q, keys, where, shape, causal);
  }
  at::Tensor gather(const at::Tensor& cache, const AttentionMetadata& prompts, const LatentContext& context) override {
    return inner_.gather(cache, prompts, context);
  }
  void ignore_empty(PartialAttention& part, const PromptKeys& keys) override { inner_.ignore_empty(part, keys); }
  void merge(at::Tensor& out, const at::Tensor& lse, const PartialAttention& first, const PartialAttention& second,
             const c10::SymInt& merged_tokens) override {
    inner_.merge(out, lse, first, second, merged_tokens);
  }

 private:
  LatentKernels& inner_;
  std::vector<std::string>& calls_;
};

/// Passes calls on and writes down what they are in the words of operator keys.
class RecordingKernels final : public Kernels {
 public:
  std::vector<std::string> calls;
  bool has_windows = true;

  std::string refusal(const AttentionShape& shape, at::ScalarType) const override {
    return shape.window > 0 && !has_windows ? fmt::format("no window of {}", shape.window) : "";
  }
  std::string refusal(const LatentShape&, at::ScalarType) const override { return {}; }
  std::string_view name() const override { return "recording"; }
  std::string family(std::string_view kind) const override { return inner_->family(kind); }
  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) override {
    note("linear", {weight.size(1), weight.size(0)}, bias ? " bias" : "");
    return inner_->linear(x, weight, bias);
  }
  at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) override {
    note("embedding", {table.size(0), table.size(1)});
    return inner_->embedding(table, ids);
  }
  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    note(x.dim() == 3 ? "qk_norm" : "rms_norm", {weight.size(0)});
    return inner_->rms_norm(x, weight, epsilon);
  }
  void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) override {
    note("rms_norm", {weight.size(0)}, " residual");
    inner_->add_rms_norm(x, residual, weight, epsilon);
  }
  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    note("layer_norm", {weight.size(0)});
    return inner_->layer_norm(x, weight, epsilon);
  }
  void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin, std::int64_t head_dim,
            bool interleaved) override {
    const auto heads = [&](const at::Tensor& x) { return x.numel() / x.size(0) / head_dim; };
    note("rope", {heads(q), heads(k), cos_sin.size(1)}, interleaved ? " interleaved" : "");
    inner_->rope(positions, q, k, cos_sin, head_dim, interleaved);
  }
  at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) override {
    const bool tanh = kind == "gelu_tanh_and_mul";
    note(tanh ? "gelu_and_mul" : std::string(kind), {x.size(1) / 2}, tanh ? " tanh" : "");
    return inner_->gated_activation(x, kind);
  }
  void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                const AttentionMetadata& metadata) override {
    note("kv_write", {k.size(1), k.size(2)});
    inner_->write_kv(k, v, k_cache, v_cache, metadata);
  }
  at::Tensor attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                       const AttentionMetadata& metadata, const AttentionShape& shape) override {
    note("attention", {q.size(1), k_cache.size(2), q.size(2)}, fmt::format(" {} {}", shape.window, shape.soft_cap));
    return inner_->attention(q, k_cache, v_cache, metadata, shape);
  }
  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                bool renormalise) override {
    note("topk_softmax", {logits.size(1), top_k});
    return inner_->top_experts(logits, top_k, renormalise);
  }
  at::Tensor experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                     const at::Tensor& ids) override {
    note("moe_experts", {x.size(1), down.size(2), down.size(0), ids.size(1)});
    return inner_->experts(x, gate_up, down, weights, ids);
  }
  at::Tensor sample(const at::Tensor& logits) override {
    note("sample", {logits.size(1)});
    return inner_->sample(logits);
  }
  LatentKernels* latent() override { return &latent_; }

 private:
  void note(std::string_view kind, std::vector<std::int64_t> dims, std::string_view more = "") {
    calls.push_back(words_of(kind, dims, more));
  }
  std::unique_ptr<Kernels> inner_ = make_torch_kernels();
  RecordingLatent latent_{*inner_->latent(), calls};
};

bool flag(const oracle::OperatorKey& key, const std::string& name) {
  const auto found = key.attributes.find(name);
  return found != key.attributes.end() && std::get<bool>(found->second);
}

double number(const oracle::OperatorKey& key, const std::string& name) {
  const auto found = key.attributes.find(name);
  if (found == key.attributes.end()) return 0;
  const auto* whole = std::get_if<std::int64_t>(&found->second);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(found->second);
}

/// A plan's entry in the words of RecordingKernels; empty: not an operator of Kernels.
std::string words(const oracle::OperatorKey& key) {
  static const std::set<std::string> others{"add", "soft_cap", "sigmoid_mul", "all_reduce", "all_gather"};
  if (others.contains(key.kind)) return {};
  std::string more;
  for (const char* name : {"bias", "residual", "interleaved"})
    if (flag(key, name)) more += std::string(" ") + name;
  if (key.attributes.contains("approximate")) more += " tanh";
  if (key.kind == "attention") more += fmt::format(" {} {}", number(key, "window"), number(key, "soft_cap"));
  if (key.kind != "qk_norm") return fmt::format("{} {}{}", key.kind, fmt::join(key.dims, "x"), more);
  if (!flag(key, "across_heads")) return fmt::format("qk_norm {}", key.dims[2]);
  return fmt::format("{} {}", flag(key, "layer_norm") ? "layer_norm" : "rms_norm", key.dims[0] * key.dims[2]);
}

struct PlanCase {
  std::string_view family;
  std::uint32_t ranks;
};

class EveryPlan : public testing::TestWithParam<PlanCase> {};

TEST_P(EveryPlan, ListsWhatTheModelComputes) {
  const std::string text = tiny_config(GetParam().family);
  const oracle::ModelConfig config = oracle::parse_model(text, GetParam().family);
  RecordingKernels kernels;
  const ModelDims dims = dims_of(config, GetParam().ranks, 64, TinyModel::kBlockSize, 8);
  const Model model(config, parse_numbers(text, config), {.dtype = at::kFloat}, dims, kernels);
  KvTensors cache = model.make_cache();
  const auto block = [&](std::uint32_t id) {
    return std::vector<std::vector<std::uint32_t>>(model.cache_groups(), std::vector<std::uint32_t>{id});
  };
  const std::vector<StepSequence> parts{{{1}, 2, block(2), true}, {{1, 2, 3}, 0, block(1), true}};
  StepSettings settings;
  settings.block_size = TinyModel::kBlockSize;
  settings.groups = model.cache_groups();
  settings.latent = model.latent_rules();
  model.step(make_step_inputs(parts, settings), cache);

  oracle::PlanSettings plan_settings;
  plan_settings.tensor_parallel = GetParam().ranks;
  plan_settings.block_size = TinyModel::kBlockSize;
  std::vector<std::string> planned, computed;  // in order of first appearance
  std::map<std::string, int> counts;
  const auto first_time = [](std::vector<std::string>& list, const std::string& what) {
    if (std::find(list.begin(), list.end(), what) == list.end()) list.push_back(what);
  };
  for (const oracle::PlanEntry& entry : oracle::make_plan(config, plan_settings).entries) {
    const std::string what = words(entry.key);
    if (what.empty()) continue;
    first_time(planned, what);
    // Norms of queries and of keys are one entry and two calls; across heads the keys' is narrower.
    const bool halves = entry.key.kind == "qk_norm" && !flag(entry.key, "across_heads");
    counts[what] += static_cast<int>(entry.count) * (halves ? 2 : 1);
  }
  std::string keys_norm;
  if (config.qk_norm == oracle::ModelConfig::QkNorm::kAllHeads) keys_norm = "layer_norm 32";
  for (const std::string& call : kernels.calls) {
    if (call == keys_norm) continue;
    first_time(computed, call);
    --counts[call];
  }
  EXPECT_EQ(computed, planned);
  for (const auto& [what, count] : counts) EXPECT_EQ(count, 0) << what;
}

/// Not in the middle of a pass: what the engine itself refuses to serve is neither served, taken apart nor traced.
TEST(ModelOfWindows, IsRefusedByNameWhereTheKernelsHaveNone) {
  const std::string text = tiny_config("gemma2");
  const oracle::ModelConfig config = oracle::parse_model(text, "tiny-gemma2");
  RecordingKernels kernels;
  kernels.has_windows = false;
  try {
    const Model model(config, parse_numbers(text, config), {.dtype = at::kFloat},
                      dims_of(config, 1, 64, TinyModel::kBlockSize, 8), kernels);
    FAIL() << "built a model that cannot run";
  } catch (const ProfilingError& error) {
    EXPECT_STREQ(error.what(), "model tiny-gemma2: no window of 9");
  }
  EXPECT_TRUE(kernels.calls.empty());
}

std::vector<PlanCase> plan_cases() {
  std::vector<PlanCase> cases;
  for (const std::string_view family : tiny_families())
    for (const std::uint32_t ranks : {1U, 2U})
      if (family != "cohere" || ranks == 1) cases.push_back({family, ranks});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryPlan, testing::ValuesIn(plan_cases()),
                         [](const auto& test) { return fmt::format("{}_tp{}", test.param.family, test.param.ranks); });

}  // namespace
}  // namespace dooly::profiling
