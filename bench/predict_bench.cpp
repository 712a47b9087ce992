// Time of one answer of the profiled oracle: a decode step, a run of them, and a mixed step, from made-up samples as
// dense as public tables; "tiles" with those that the profiler adds, of two lengths and in both regimes of the clock,
// for FlashAttention 3; "dealt" the same for FlashAttention 2.
#include "oracle/model_table.hpp"
#include "oracle_profiled/dealt_kernel.hpp"
#include "oracle_profiled/profiled_oracle.hpp"

#include <benchmark/benchmark.h>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace dooly::oracle;

using Launch = FlashTiles::Launch;

/// As long as the tiles of the operator's kernel say.
std::function<double(const Launch&)> seconds_of(const OperatorKey& key) {
  const Gpu& gpu = find_gpu("H200");
  if (const auto tiles = FlashTiles::of(key, gpu)) {
    return [tiles](const Launch& launch) {
      const FlashTiles::Terms terms = tiles->terms(launch);
      return 7e-6 + 1e-6 * terms[FlashTiles::kSplits] + 2e-6 * terms[FlashTiles::kTiles] +
             1.9e-6 * terms[FlashTiles::kSchedule];
    };
  }
  const auto kernel = DealtKernel::of(key, gpu);
  const TileDealer dealer(kernel->multiprocessors(), {.slots = 2, .alone = 1.6});
  return [kernel, dealer](const Launch& launch) {
    const DealtKernel::Terms terms = kernel->terms(launch, kernel->variant(launch), dealer);
    return 7e-6 + 2e-6 * terms[DealtKernel::kTiles] + 0.8e-6 * terms[DealtKernel::kEnd];
  };
}

class MadeUp : public SampleSource {
 public:
  MadeUp(const StepPlan& plan, bool by_tiles) {
    for (const PlanEntry& entry : plan.entries) {
      std::vector<Sample>& samples = samples_[entry.signature];
      if (entry.binding == Binding::kAttention && by_tiles) {
        attention_by(seconds_of(entry.key), samples);
      } else if (entry.binding == Binding::kAttention) {
        attention(samples);
      } else {
        for (std::uint64_t x = 1; x <= 16384; x = x < 16 ? x + 1 : x * 5 / 4)
          samples.push_back(of({x, entry.binding == Binding::kCollective ? 2U : 0U}, 5e-6 + 2e-8 * double(x)));
      }
    }
  }
  std::vector<Sample> samples(const Signature& signature) const override { return samples_.at(signature); }
  std::vector<SampleSet> sets() const override { return {}; }
  std::string describe() const override { return "made up"; }

 private:
  static Sample of(std::initializer_list<std::uint64_t> point, double seconds) {
    Sample sample;
    std::copy(point.begin(), point.end(), sample.point.begin());
    sample.median_s = seconds;
    return sample;
  }
  static void attention(std::vector<Sample>& samples) {
    for (std::uint64_t n = 1; n <= 1024; n *= 2)
      for (std::uint64_t c = 1; c <= 131072; c *= 2)
        samples.push_back(of({0, 0, 0, n, c}, 5e-6 + 1e-8 * double(n) + 1e-9 * double(n * c)));
    for (std::uint64_t b = 1; b <= 64; b *= 2)
      for (std::uint64_t q = 16; q <= 16384; q *= 2)
        samples.push_back(of({b, q, 0}, 5e-6 + 2e-9 * double(b * q) + 1e-12 * double(b * q * q)));
    for (std::uint64_t q = 16; q <= 2048; q *= 2)
      for (std::uint64_t c = 16; c <= 16384; c *= 4)
        for (std::uint64_t n = 1; n <= 128; n *= 2)
          for (std::uint64_t d = 16; d <= 16384; d *= 4)
            samples.push_back(of({1, q, c, n, d}, 8e-6 + 2e-12 * double(q * c) + 1e-9 * double(n * d)));
  }
  /// In the regime of a cool device, and 13 % longer in the other at every other point.
  static void attention_by(const std::function<double(const Launch&)>& seconds_of, std::vector<Sample>& samples) {
    const auto add = [&](std::initializer_list<std::uint64_t> point, const Launch& launch) {
      const double seconds = seconds_of(launch);
      samples.push_back(of(point, seconds));
      samples.back().regime = ClockRegime::kCool;
      if (samples.size() % 3 != 0) return;
      samples.push_back(of(point, 1.13 * seconds));
      samples.back().regime = ClockRegime::kSustained;
    };
    for (std::uint64_t n = 1; n <= 256; n *= 2)
      for (std::uint64_t c = 127; c <= 32767; c = 4 * c + 3) {
        add({0, 0, 0, n, c}, {double(n), double(c + 1)});
        for (const std::uint64_t many : {std::uint64_t{1}, n / 4})
          if (many > 0 && many < n)
            add({0, 0, 0, n, c, many, 8 * c}, {double(n - many), double(c + 1), double(many), double(8 * c + 1)});
      }
    for (std::uint64_t q = 64; q <= 8192; q *= 2)
      for (std::uint64_t c = 0; c <= 16384; c = 4 * c + 256) {
        const Launch chunk{.chunks = 1, .query = double(q), .context = double(c)};
        add({1, q, c}, chunk);
        for (std::uint64_t n = 4; n <= 256; n *= 4)
          for (std::uint64_t a = 63; a <= 8191; a = 4 * a + 3) {
            Launch both = chunk;
            both.decodes = double(n), both.attended = double(a + 1);
            add({1, q, c, n, a}, both);
          }
      }
  }
  std::map<Signature, std::vector<Sample>> samples_;
};

std::unique_ptr<ProfiledOracle> oracle_of(const char* model, bool by_tiles = false, const char* backend = "fa3") {
  const StepPlan plan = make_plan(find_model(model), {.backend = backend});
  const MadeUp source(plan, by_tiles);
  const SampleSource* sources[] = {&source};
  CompileSettings settings;
  settings.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
  return std::make_unique<ProfiledOracle>(plan, sources, find_gpu("H200"), settings, find_platform("h200-vm"));
}

BatchShape decodes(std::uint32_t count) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t context = 500 + 7 * i;
    shape.decode_context += context;
    shape.decode_context_squares += context * context;
    shape.decode_context_cubes += context * context * context;
    shape.decode_longest = static_cast<std::uint32_t>(context);
  }
  return shape;
}

void ask(benchmark::State& state, const LatencyOracle& oracle, BatchShape shape) {
  const std::uint64_t context = shape.decode_context;
  std::uint64_t asked = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(oracle.cost(shape, DeviceState{0.5}));
    shape.decode_context = context + ++asked % 4096;  // another batch each time
  }
  state.counters["answers/s"] = benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}

void BM_Decode(benchmark::State& state, const char* model, bool by_tiles = false) {
  const auto oracle = oracle_of(model, by_tiles);
  ask(state, *oracle, decodes(static_cast<std::uint32_t>(state.range(0))));
}
BENCHMARK_CAPTURE(BM_Decode, full, "meta-llama/Llama-3.1-8B")->RangeMultiplier(16)->Range(1, 256);
BENCHMARK_CAPTURE(BM_Decode, sliding_window, "CohereForAI/c4ai-command-r7b-12-2024")->Arg(256);
BENCHMARK_CAPTURE(BM_Decode, experts, "Qwen/Qwen3-30B-A3B")->Arg(256);
BENCHMARK_CAPTURE(BM_Decode, tiles, "meta-llama/Llama-3.1-8B", true)->Arg(1)->Arg(256);

/// Other decodes in each call, of which one in 32 is as long as many: no call goes on from the one before, and of two
/// lengths the longer outlive the rest, so tiles are dealt out one by one.
void BM_DecodeUnequal(benchmark::State& state, const char* backend) {
  const auto oracle = oracle_of("meta-llama/Llama-3.1-8B", true, backend);
  const auto count = static_cast<std::uint32_t>(state.range(0));
  std::mt19937_64 random(7);
  std::vector<BatchShape> shapes(1024);
  for (BatchShape& shape : shapes) {
    shape.decodes = shape.logits_rows = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t context = i % 32 == 0 ? 24000 + random() % 8000 : 100 + random() % 1400;
      shape.decode_context += context;
      shape.decode_context_squares += context * context;
      shape.decode_context_cubes += context * context * context;
      shape.decode_longest = std::max(shape.decode_longest, static_cast<std::uint32_t>(context));
    }
  }
  std::size_t asked = 0;
  for (auto _ : state) benchmark::DoNotOptimize(oracle->cost(shapes[asked++ % shapes.size()], DeviceState{0.5}));
  state.counters["answers/s"] = benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_DecodeUnequal, tiles, "fa3")->Arg(32)->Arg(256);
BENCHMARK_CAPTURE(BM_DecodeUnequal, dealt, "fa2")->Arg(32)->Arg(256);

/// The same decodes, a token further each time, as most steps are.
void BM_DecodeOn(benchmark::State& state, bool by_tiles) {
  const auto oracle = oracle_of("meta-llama/Llama-3.1-8B", by_tiles);
  const BatchShape first = decodes(256);
  BatchShape shape = first;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(oracle->cost(shape, DeviceState{0.5}));
    shape.decode_context_cubes += 3 * shape.decode_context_squares + 3 * shape.decode_context + shape.decodes;
    shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
    shape.decode_context += shape.decodes;
    if (++shape.decode_longest > 8192) shape = first;
  }
}
BENCHMARK_CAPTURE(BM_DecodeOn, full, false);
BENCHMARK_CAPTURE(BM_DecodeOn, tiles, true);

void BM_Mixed(benchmark::State& state, const char* model, bool by_tiles = false) {
  const auto oracle = oracle_of(model, by_tiles);
  std::vector<PrefillChunk> chunks(static_cast<std::size_t>(state.range(0)), PrefillChunk{200, 300});
  BatchShape shape = decodes(64);
  shape.prefills = chunks;
  shape.prefill_tokens = 200 * static_cast<std::uint32_t>(chunks.size());
  ask(state, *oracle, shape);
}
BENCHMARK_CAPTURE(BM_Mixed, full, "meta-llama/Llama-3.1-8B")->Arg(1)->Arg(32);
BENCHMARK_CAPTURE(BM_Mixed, sliding_window, "CohereForAI/c4ai-command-r7b-12-2024")->Arg(32);
BENCHMARK_CAPTURE(BM_Mixed, tiles, "meta-llama/Llama-3.1-8B", true)->Arg(1)->Arg(32);

/// Steps of a run, each.
void BM_DecodeRun(benchmark::State& state, bool by_tiles) {
  const auto oracle = oracle_of("meta-llama/Llama-3.1-8B", by_tiles);
  BatchShape shape = decodes(256);
  std::vector<double> device_s(256);
  double steps = 0;
  for (auto _ : state) {
    LatencyOracle::DecodeRun run;
    benchmark::DoNotOptimize(oracle->decode_run(shape, device_s, run));
    steps += run.steps;
  }
  state.counters["steps/s"] = benchmark::Counter(steps, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_DecodeRun, full, false);
BENCHMARK_CAPTURE(BM_DecodeRun, tiles, true);

void BM_Compile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(oracle_of("meta-llama/Llama-3.1-8B"));
}
BENCHMARK(BM_Compile)->Unit(benchmark::kMillisecond);

}  // namespace
