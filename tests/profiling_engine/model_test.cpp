// What makes a model's tokens right: they do not depend on how the scheduler cuts and mixes the work.
#include "tiny_models.hpp"

#include "profiling_kernels/module_scope.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "test_support/scratch.hpp"

#include <ATen/ops/isfinite.h>

#include <gtest/gtest.h>

#include <set>

namespace dooly::profiling {
namespace {

class EveryFamily : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryFamily, ComputesFiniteLogitsThatDependOnTheInput) {
  TinyModel tiny(GetParam());
  auto first = tiny.open(), second = tiny.open();
  const StepInputs inputs = make_step_inputs(
      std::vector{tiny.part(first, some_tokens(20, 1)), tiny.part(second, some_tokens(9, 2))}, tiny.step_settings());
  const at::Tensor logits = tiny.model().logits(tiny.model().forward(inputs, tiny.cache()), inputs.rows);
  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{2, 500}));
  EXPECT_TRUE(at::isfinite(logits).all().item<bool>());
  EXPECT_GT(logits.std().item<double>(), 0.01);
  std::set<std::int64_t> chosen;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) chosen.insert(tiny.generate(some_tokens(12, seed), 1).front());
  EXPECT_GE(chosen.size(), 5U);
}

TEST_P(EveryFamily, PrefillInChunksGivesTheSameTokens) {
  TinyModel tiny(GetParam());
  const std::vector<std::int64_t> prompt = some_tokens(30, 3);
  const std::vector<std::int64_t> whole = tiny.generate(prompt, 6);
  auto sequence = tiny.open();
  std::vector<std::int64_t> chunked;
  for (const auto& [from, to] : {std::pair{0, 7}, {7, 8}, {8, 21}, {21, 30}}) {
    const bool last = to == 30;
    chunked = tiny.step({tiny.part(sequence, {prompt.begin() + from, prompt.begin() + to}, last)});
  }
  while (chunked.size() < 6) chunked.push_back(tiny.step({tiny.part(sequence, {chunked.back()})}).front());
  EXPECT_EQ(chunked, whole);
}

/// Also what a preempted request does: its outputs become part of the prompt that is computed again.
TEST_P(EveryFamily, DecodingEqualsPrefillOfTheLongerPrompt) {
  TinyModel tiny(GetParam());
  std::vector<std::int64_t> known = some_tokens(17, 4);
  const std::vector<std::int64_t> decoded = tiny.generate(known, 8);
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    ASSERT_EQ(tiny.generate(known, 1).front(), decoded[i]) << "after " << i << " outputs";
    known.push_back(decoded[i]);
  }
}

TEST_P(EveryFamily, BatchingDoesNotChangeTokens) {
  TinyModel tiny(GetParam());
  std::vector<std::vector<std::int64_t>> alone, together(4);
  std::vector<TinyModel::Sequence> sequences;
  std::vector<std::vector<std::int64_t>> prompts;
  for (std::size_t i = 0; i < 4; ++i) {
    prompts.push_back(some_tokens(5 + 8 * i, 10 + i));
    alone.push_back(tiny.generate(prompts[i], 5));
    sequences.push_back(tiny.open());
  }
  for (std::size_t step = 0; step < 8; ++step) {  // request i joins in step i
    std::vector<StepSequence> parts;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i <= std::min<std::size_t>(step, 3); ++i) {
      if (together[i].size() == 5) continue;
      const bool begins = together[i].empty();
      parts.push_back(tiny.part(sequences[i], begins ? prompts[i] : std::vector{together[i].back()}));
      who.push_back(i);
    }
    const std::vector<std::int64_t> ids = tiny.step(parts);
    for (std::size_t j = 0; j < who.size(); ++j) together[who[j]].push_back(ids[j]);
  }
  EXPECT_EQ(together, alone);
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryFamily, testing::ValuesIn(tiny_families()),
                         [](const auto& test) { return std::string(test.param); });

TEST(Model, PaddingDoesNotChangeTokens) {
  TinyModel tiny("llama");
  auto plain = tiny.open(), padded = tiny.open();
  const std::vector<std::int64_t> prompt = some_tokens(6, 5);
  EXPECT_EQ(tiny.step({tiny.part(plain, prompt)}), tiny.step({tiny.part(padded, prompt)}, 8));
  EXPECT_EQ(tiny.step({tiny.part(plain, {3})}), tiny.step({tiny.part(padded, {3})}, 4));
}

TEST(Model, ComputesInBfloat16) {
  TinyModel tiny("qwen3_moe", at::kBFloat16);
  auto sequence = tiny.open();
  const StepInputs inputs =
      make_step_inputs(std::vector{tiny.part(sequence, some_tokens(20, 1))}, tiny.step_settings());
  const at::Tensor hidden = tiny.model().forward(inputs, tiny.cache());
  EXPECT_EQ(hidden.scalar_type(), at::kBFloat16);
  TinyModel exact("qwen3_moe");
  auto same = exact.open();
  const StepInputs exact_inputs =
      make_step_inputs(std::vector{exact.part(same, some_tokens(20, 1))}, exact.step_settings());
  EXPECT_EQ(exact.model().forward(exact_inputs, exact.cache()).sizes(), hidden.sizes());
  EXPECT_EQ(2 * tiny.model().weight_bytes(), exact.model().weight_bytes());
}

at::Tensor logits_of(TinyModel& tiny, const std::vector<std::int64_t>& tokens) {
  auto sequence = tiny.open();
  const StepInputs inputs = make_step_inputs(std::vector{tiny.part(sequence, tokens)}, tiny.step_settings());
  return tiny.model().logits(tiny.model().forward(inputs, tiny.cache()), inputs.rows);
}

/// Three layers with a window of 9 tokens reach 24 tokens back.
TEST(Model, WindowsHideWhatIsFurtherBack) {
  const char* windowed = R"({"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"]})";
  TinyModel narrow("mistral", at::kFloat, windowed), mixed("mistral");
  std::vector<std::int64_t> near = some_tokens(40, 6), far = near;
  near[39 - 24] = (near[39 - 24] + 1) % 500;
  far[39 - 25] = (far[39 - 25] + 1) % 500;
  const std::vector<std::int64_t> prompt = some_tokens(40, 6);
  const auto change = [&](TinyModel& tiny, const std::vector<std::int64_t>& other) {
    return (logits_of(tiny, prompt) - logits_of(tiny, other)).abs().max().item<double>();
  };
  EXPECT_EQ(change(narrow, far), 0);
  EXPECT_GT(change(narrow, near), 0);
  EXPECT_GT(change(mixed, far), 0) << "two of its layers see everything";
}

TEST(Model, SoftCapsBoundTheLogits) {
  TinyModel capped("gemma2", at::kFloat, R"({"final_logit_softcapping": 0.5})");
  EXPECT_LT(logits_of(capped, some_tokens(10, 1)).abs().max().item<double>(), 0.5);
  TinyModel wide("gemma2");
  EXPECT_GT(logits_of(wide, some_tokens(10, 1)).abs().max().item<double>(), 0.5);
}

class PathLog final : public ModuleListener {
 public:
  PathLog() { module_listener = this; }
  ~PathLog() override { module_listener = nullptr; }
  void enter(std::string_view name, std::string_view) override {
    std::string path = open_.empty() ? std::string() : open_.back() + '.';
    path.append(name);
    paths.push_back(path);
    open_.push_back(std::move(path));
  }
  void leave() noexcept override { open_.pop_back(); }
  bool saw(std::string_view path) const { return std::find(paths.begin(), paths.end(), path) != paths.end(); }
  std::vector<std::string> paths;

 private:
  std::vector<std::string> open_;
};

TEST(Model, ModulesReportTheirPaths) {
  TinyModel tiny("qwen3");
  const PathLog log;
  tiny.generate(some_tokens(4, 1), 1);
  for (const char* path :
       {"model.embed_tokens", "model.layers.0.input_layernorm", "model.layers.2.self_attn.qkv_proj",
        "model.layers.1.self_attn.q_norm", "model.layers.1.self_attn.rotary_emb", "model.layers.1.self_attn.attn",
        "model.layers.0.mlp.act_fn", "model.norm", "lm_head", "sampler"}) {
    EXPECT_TRUE(log.saw(path)) << path;
  }
}

TEST(Model, RefusesByNameWhatItCannotCompute) {
  const auto refuse = [](std::string_view text) {
    const oracle::ModelConfig config = oracle::parse_model(text, "m");
    return test::message_of<ProfilingError>([&] { check_is_built_in(config, 1); });
  };
  EXPECT_EQ(refuse(R"({"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                       "ffn_dim": 128, "vocab_size": 100, "max_position_embeddings": 64, "word_embed_proj_dim": 64})"),
            "model m (opt): the built-in engine has no norms with biases");
}

}  // namespace
}  // namespace dooly::profiling
