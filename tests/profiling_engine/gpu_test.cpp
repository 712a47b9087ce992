// The built-in engine on a GPU with the kernels of the vLLM wheel, looked for in the folder $DOOLY_VLLM_KERNELS.
#include "profiling_engine/serve.hpp"
#include "profiling_engine/step_runner.hpp"
#include "profiling_engine/step_study.hpp"
#include "profiling_kernels/cuda.hpp"
#include "test_support/scratch.hpp"

#include "golden_log.hpp"
#include "log_replay.hpp"

#include <c10/core/InferenceMode.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace dooly::profiling {
namespace {

constexpr const char* kConfig = R"({"model_type": "qwen3", "hidden_size": 512, "intermediate_size": 1024,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 2000,
  "max_position_embeddings": 1024, "torch_dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6,
  "tie_word_embeddings": false, "rope_theta": 10000.0})";

constexpr const char* kLatentConfig = R"({"model_type": "deepseek_v2", "hidden_size": 512, "intermediate_size": 1024,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 2000, "q_lora_rank": 256,
  "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
  "max_position_embeddings": 1024, "torch_dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6,
  "tie_word_embeddings": false, "rope_theta": 10000.0})";

class EngineOnGpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string why; !cuda_available(&why)) GTEST_SKIP() << "no GPU: " << why;
    const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
    if (folder == nullptr) GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
    kernels_ = make_vllm_kernels(folder, "fa3");
    file_.config = oracle::parse_model(GetParam(), "small");
    file_.numbers = parse_numbers(GetParam(), file_.config);
  }

  std::unique_ptr<Kernels> kernels_;
  ModelFile file_;
};

/// Requests of a few dozen tokens, more than fit at a time.
std::vector<ServeRequest> crowd() {
  std::vector<ServeRequest> requests;
  for (std::uint32_t i = 0; i < 40; ++i) {
    ServeRequest request;
    request.arrival_s = i < 20 ? 0 : 0.002 * (i - 19);
    request.prompt = 20 + 17 * i % 90;
    request.output = 10 + 7 * i % 40;
    requests.push_back(request);
  }
  return requests;
}

ServeOptions options(std::vector<std::uint32_t> sizes, std::uint32_t blocks) {
  ServeOptions made;
  made.device = "cuda";
  made.capture_sizes = std::move(sizes);
  made.engine.async_scheduling = true;
  made.engine.num_blocks = blocks;
  made.engine.max_num_batched_tokens = 256;
  made.engine.max_num_seqs = 16;
  return made;
}

/// Whether batches are captured or not, with few blocks (preemptions) or many, the simulator decides the same.
TEST_P(EngineOnGpu, TheSimulatorDecidesAsTheEngineDid) {
  for (const std::uint32_t blocks : {60U, 400U}) {
    const ServedRun run = serve(file_, crowd(), options({1, 2, 4, 8, 16}, blocks), *kernels_);
    const auto captured = std::count_if(run.iterations.begin(), run.iterations.end(),
                                        [](const ServedIteration& iteration) { return iteration.is_graph; });
    EXPECT_GT(captured, 20);
    EXPECT_LT(captured, static_cast<std::ptrdiff_t>(run.iterations.size()));  // prompts are not
    for (const ServedIteration& iteration : run.iterations) EXPECT_GT(iteration.device_us, 0);
    const test::Scratch scratch;
    write_decisions(run, scratch.path());
    const golden::GoldenLog log = golden::GoldenLog::read(scratch / "run.decisions.jsonl.gz");
    golden::LogReplay replay(log, nullptr);
    for (std::size_t i = 0; i < log.rows.size(); ++i) ASSERT_EQ(replay.step(log.rows[i]), log.rows[i]) << "row " << i;
  }
}

/// Feeds a few sequences to a runner: their prompts, then token by token.
class Feeder {
 public:
  Feeder(StepRunner& runner, std::size_t count, bool on_device) : runner_(runner), on_device_(on_device) {
    for (std::size_t i = 0; i < count; ++i) {
      ScheduledPart& part = parts_.emplace_back();
      part.tag = static_cast<std::uint32_t>(i);
      for (std::size_t token = 0; token < 30 + 7 * i; ++token)
        part.sequence.tokens.push_back(static_cast<std::int64_t>((31 * i + 17 * token) % 2000));
      constexpr std::uint32_t kBlocks = 16;
      part.sequence.blocks.emplace_back();
      for (std::uint32_t block = 0; block < kBlocks; ++block)
        part.sequence.blocks[0].push_back(1 + kBlocks * static_cast<std::uint32_t>(i) + block);
    }
  }

  /// Sampled ids of one step. `on_device`: the next step takes them from there, the host's stand for nothing.
  std::vector<std::int64_t> step(std::size_t count) {
    launched_ = runner_.submit({parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(count)});
    std::vector<std::int64_t> ids = runner_.collect().ids;
    for (std::size_t i = 0; i < count; ++i) {
      StepSequence& sequence = parts_[i].sequence;
      sequence.computed += static_cast<std::int64_t>(sequence.tokens.size());
      sequence.tokens = {on_device_ ? 0 : ids.at(i)};
      parts_[i].last_is_pending = on_device_;
    }
    return ids;
  }
  bool was_graph() const { return launched_.is_graph; }

 private:
  StepRunner& runner_;
  bool on_device_;
  LaunchedStep launched_;
  std::vector<ScheduledPart> parts_;
};

TEST_P(EngineOnGpu, CapturedDecodesEqualEagerOnes) {
  const c10::InferenceMode inference;
  ModelSettings settings;
  settings.device = c10::Device(c10::DeviceType::CUDA, 0);
  const Model model(file_.config, file_.numbers, settings, dims_of(file_.config, 1, 1024, 16, 200), *kernels_);
  const std::vector<std::uint32_t> sizes{1, 2, 4, 8};
  const auto generated = [&](bool captures) {
    StepRunner runner(model, 8, sizes, captures, 8);
    Feeder feeder(runner, 8, captures);
    std::vector<std::vector<std::int64_t>> steps;
    steps.push_back(feeder.step(8));
    EXPECT_FALSE(feeder.was_graph());
    for (const std::size_t count : {8U, 8U, 8U, 7U, 5U, 4U, 4U, 3U, 2U, 1U, 1U}) {
      steps.push_back(feeder.step(count));
      EXPECT_EQ(feeder.was_graph(), captures) << count;
    }
    return steps;
  };
  const auto captured = generated(true), eager = generated(false);
  EXPECT_EQ(captured, eager);
  for (const auto& ids : captured)
    for (const std::int64_t id : ids) EXPECT_TRUE(id >= 0 && id < 2000) << id;
}

TEST_P(EngineOnGpu, AStepIsTheSumOfItsParts) {
  const StepStudy study = study_step(file_, *kernels_, {8, 200}, {});
  std::size_t kernels = 0;
  for (const StudyPart& part : study.parts) {
    EXPECT_GT(part.alone, 0) << part.kind;
    EXPECT_GT(part.kernels.inside, 0) << part.kind;
    EXPECT_GT(part.kernels.cold, 0) << part.kind;
    kernels += part.calls * part.by_kernel.size();
  }
  EXPECT_GE(kernels, 3 * 10U) << study_text(study);
  EXPECT_GT(study.engine, study.graph);
  EXPECT_GT(study.graph, 0);
}

/// Whole prompts run on expanded heads, pieces of up to 512 tokens in the latent: the same hidden states.
TEST_P(EngineOnGpu, PromptsInPiecesEqualWholeOnes) {
  const c10::InferenceMode inference;
  ModelSettings settings;
  settings.device = c10::Device(c10::DeviceType::CUDA, 0);
  const Model model(file_.config, file_.numbers, settings, dims_of(file_.config, 1, 1024, 16, 200), *kernels_);
  KvTensors cache = model.make_cache();
  StepSettings step;
  step.device = settings.device;
  step.latent = model.latent_rules();
  const auto last_hidden = [&](const std::vector<std::int64_t>& cuts, std::uint32_t first_block) {
    at::Tensor hidden;
    std::int64_t computed = 0;
    for (const std::int64_t end : cuts) {
      StepSequence part;
      for (std::int64_t token = computed; token < end; ++token) part.tokens.push_back(31 * token % 2000);
      part.computed = computed;
      part.blocks.emplace_back();
      for (std::uint32_t block = 0; block < 60; ++block) part.blocks[0].push_back(first_block + block);
      StepInputs inputs = make_step_inputs({&part, 1}, step);
      model.plan_attention(inputs);
      hidden = model.forward(inputs, cache).index({-1}).to(at::kFloat);
      computed = end;
    }
    return hidden;
  };
  const at::Tensor whole = last_hidden({900}, 1);
  for (const auto& cuts : std::vector<std::vector<std::int64_t>>{{300, 900}, {300, 500, 899, 900}}) {
    const at::Tensor pieces = last_hidden(cuts, 70);
    EXPECT_LT((pieces - whole).norm().item<double>() / whole.norm().item<double>(), 3e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EngineOnGpu, testing::Values(kConfig, kLatentConfig),
                         [](const auto& test) { return test.index == 0 ? "heads" : "latent"; });

}  // namespace
}  // namespace dooly::profiling
