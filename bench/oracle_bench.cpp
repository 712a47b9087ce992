// Time of one oracle answer: a decode step, and a mixed step with prefill chunks, of the models whose attention
 // differs.
#include "oracle/memory_plan.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_factory.hpp"

#include <benchmark/benchmark.h>
#include <memory>
#include <vector>

namespace {

using namespace dooly::oracle;

std::unique_ptr<LatencyOracle> roofline(const char* model) {
  const ModelConfig config = find_model(model);
  OracleParameters parameters;
  parameters.model = &config;
  parameters.gpu = &find_gpu("H200");
  parameters.roofline.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
  parameters.platform = find_platform("h200-vm");
  return make_oracle("roofline", parameters);
}

BatchShape decodes(std::uint32_t count) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t context = 500 + 7 * i;
    shape.decode_context += context;
    shape.decode_context_squares += context * context;
  }
  return shape;
}

void ask(benchmark::State& state, const LatencyOracle& oracle, BatchShape shape) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(oracle.cost(shape, DeviceState{}));
    ++shape.decode_context;  // as between two steps
  }
  state.counters["answers/s"] = benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}

void BM_Decode(benchmark::State& state, const char* model) {
  const auto oracle = roofline(model);
  ask(state, *oracle, decodes(static_cast<std::uint32_t>(state.range(0))));
}
BENCHMARK_CAPTURE(BM_Decode, full, "meta-llama/Llama-3.1-8B")->RangeMultiplier(16)->Range(1, 256);
BENCHMARK_CAPTURE(BM_Decode, sliding_window, "CohereForAI/c4ai-command-r7b-12-2024")->Arg(256);
BENCHMARK_CAPTURE(BM_Decode, experts, "Qwen/Qwen3-30B-A3B")->Arg(256);

void BM_Mixed(benchmark::State& state, const char* model) {
  const auto oracle = roofline(model);
  std::vector<PrefillChunk> chunks(static_cast<std::size_t>(state.range(0)), PrefillChunk{200, 300});
  BatchShape shape = decodes(64);
  shape.prefills = chunks;
  shape.prefill_tokens = 200 * static_cast<std::uint32_t>(chunks.size());
  ask(state, *oracle, shape);
}
BENCHMARK_CAPTURE(BM_Mixed, full, "meta-llama/Llama-3.1-8B")->Arg(1)->Arg(32);
BENCHMARK_CAPTURE(BM_Mixed, sliding_window, "CohereForAI/c4ai-command-r7b-12-2024")->Arg(32);

void BM_Fixed(benchmark::State& state) {
  const FixedOracle oracle({.base = 5e-3, .per_token = 1e-5, .per_1000_context = 3e-5});
  ask(state, oracle, decodes(256));
}
BENCHMARK(BM_Fixed);

void BM_Make(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(roofline("meta-llama/Llama-3.1-8B"));
}
BENCHMARK(BM_Make)->Unit(benchmark::kMillisecond);

}  // namespace
