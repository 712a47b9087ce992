// Predicting allocates nothing: a program of its own, in which every allocation is counted.
#include "oracle/model_table.hpp"
#include "oracle_profiled/profiled_oracle.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {
std::atomic<std::uint64_t> allocations{0};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizer has an allocator of its own. Of sanitizer/allocator_interface.h, which g++ comes without.
extern "C" int __sanitizer_install_malloc_and_free_hooks(  // NOLINT(bugprone-reserved-identifier)
    void (*on_allocation)(const volatile void*, std::size_t), void (*on_release)(const volatile void*));
namespace {
void count_allocation(const volatile void*, std::size_t) { ++allocations; }
void ignore_release(const volatile void*) {}
[[maybe_unused]] const bool are_hooks_installed =
    __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_release) != 0;
}  // namespace
#else
// In place of the C library's, which the C++ library's operator new calls too.
extern "C" {
void* __libc_malloc(std::size_t);                     // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);             // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);      // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

namespace dooly::oracle {
namespace {

/// Which kernels a plan has, and which of the shipped stores know them.
struct Case {
  const char* name;
  const char* model;
  const char* backend;
  std::vector<const char*> stores;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class NoAllocation : public testing::TestWithParam<Case> {
 protected:
  NoAllocation() {
    const StepPlan plan = make_plan(find_model(GetParam().model), {.backend = GetParam().backend});
    std::vector<std::filesystem::path> paths;
    for (const char* store : GetParam().stores) paths.push_back(dooly::test::source_path("stores") / store);
    const auto source = store::open_sample_source(paths);
    const SampleSource* sources[] = {source.get()};
    CompileSettings settings;
    settings.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
    oracle_ = std::make_unique<ProfiledOracle>(plan, std::span(sources, paths.empty() ? 0 : 1), find_gpu("H200"),
                                               settings, find_platform("h200-vm"));
  }

  /// Of two lengths, a few of them long: dealt out tile by tile where there are few tiles, in a flow where many.
  BatchShape unequal_decodes(std::uint32_t count, std::uint64_t longest) {
    BatchShape shape;
    shape.decodes = shape.logits_rows = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t context = i % 16 == 0 ? longest : 64 + random_() % 1900;
      shape.decode_context += context;
      shape.decode_context_squares += context * context;
      shape.decode_context_cubes += context * context * context;
      shape.decode_longest = std::max(shape.decode_longest, static_cast<std::uint32_t>(context));
    }
    return shape;
  }

  /// Decodes alone: one, few, as many as a graph holds, and more than the plan has tables for.
  std::vector<BatchShape> decode_batches() {
    std::vector<BatchShape> batches;
    for (const std::uint32_t count : {1U, 3U, 16U, 48U, 256U, 1000U, 1500U})
      for (const std::uint64_t longest : {900U, 6000U, 32000U}) {
        batches.push_back(unequal_decodes(count, longest));
        BatchShape untold = batches.back();  // neither the longest nor cubes
        untold.decode_longest = 0;
        untold.decode_context_cubes = 0;
        batches.push_back(untold);
        if (count < 8) continue;
        batches.push_back(batches[batches.size() - 2]);
        batches.back().shared_tokens = 512;
        batches.back().repeated_tokens = 512 * 5;
      }
    return batches;
  }

  void expect_none(const std::vector<BatchShape>& batches) {
    double seconds = 0;
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < batches.size(); ++i) {
        const std::uint64_t before = allocations;
        seconds += oracle_->cost(batches[i], DeviceState{0.5}).device.total();
        if (round == 0) continue;
        ASSERT_EQ(allocations, before) << "batch " << i << ": " << batches[i].decodes << " decodes, "
                                       << batches[i].prefills.size() << " chunks";
      }
    EXPECT_GT(seconds, 0);
  }

  std::unique_ptr<ProfiledOracle> oracle_;
  std::mt19937_64 random_{1};
};

TEST(CountedAllocations, AreSeen) {
  const std::uint64_t before = allocations;
  auto number = std::make_unique<int>(3);
  const std::uint64_t after_new = allocations;
  EXPECT_GT(after_new, before);
  std::string text(100 + static_cast<std::size_t>(*number), 'x');
  EXPECT_GT(allocations, after_new);
  EXPECT_EQ(text.size(), 103U);
}

TEST_P(NoAllocation, ForDecodeSteps) { expect_none(decode_batches()); }

TEST_P(NoAllocation, ForMixedSteps) {
  const std::vector<BatchShape> decodes = decode_batches();
  std::vector<std::vector<PrefillChunk>> chunks{{{512, 0}}, {{64, 16384}, {2000, 0}}, {{1, 700}, {300, 100}}};
  chunks.emplace_back(32, PrefillChunk{200, 300});
  chunks.emplace_back(100, PrefillChunk{17, 4000});  // more than are held
  std::vector<BatchShape> batches;
  for (const auto& some : chunks) {
    BatchShape shape;
    shape.prefills = some;
    shape.logits_rows = static_cast<std::uint32_t>(some.size());
    for (const PrefillChunk& chunk : some) shape.prefill_tokens += chunk.query;
    batches.push_back(shape);
    for (BatchShape both : decodes) {
      both.prefills = some;
      both.prefill_tokens = shape.prefill_tokens;
      both.logits_rows += shape.logits_rows;
      batches.push_back(both);
    }
  }
  expect_none(batches);
}

TEST_P(NoAllocation, ForStepsThatGoOn) {
  BatchShape shape = unequal_decodes(256, 6000);
  oracle_->cost(shape, DeviceState{});
  const std::uint64_t before = allocations;
  for (int step = 0; step < 2000; ++step) {
    shape.decode_context_cubes += 3 * shape.decode_context_squares + 3 * shape.decode_context + shape.decodes;
    shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
    shape.decode_context += shape.decodes;
    ++shape.decode_longest;
    oracle_->cost(shape, DeviceState{0.25});
  }
  EXPECT_EQ(allocations, before);
}

TEST_P(NoAllocation, ForARunOfDecodes) {
  const std::vector<BatchShape> batches = decode_batches();
  std::array<double, 256> device_s{};
  std::uint64_t steps = 0;
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < batches.size(); ++i) {
      LatencyOracle::DecodeRun run;
      const std::uint64_t before = allocations;
      const bool is_answered = oracle_->decode_run(batches[i], device_s, run);
      const std::uint64_t after = allocations;
      ASSERT_TRUE(is_answered || batches[i].decodes > 1024) << "batch " << i;
      ASSERT_TRUE(round == 0 || after == before) << "batch " << i;
      steps += run.steps;
    }
  EXPECT_GT(steps, 0U);
}

const std::vector<Case> kCases{
    {"Fa3", "meta-llama/Llama-3.1-8B", "fa3", {"h200-vllm.jsonl.zst"}},
    {"Fa3Windows", "CohereForAI/c4ai-command-r7b-12-2024", "fa3", {"h200-vllm.jsonl.zst"}},
    {"Fa3Experts", "Qwen/Qwen3-30B-A3B", "fa3", {"h200-vllm.jsonl.zst"}},
    {"Fa2", "meta-llama/Llama-3.1-8B", "fa2", {"h200-vllm.jsonl.zst", "h200-fa2.jsonl.zst"}},
    {"Triton", "meta-llama/Llama-3.1-8B", "triton", {"h200-vllm.jsonl.zst", "h200-triton.jsonl.zst"}},
    {"Flashinfer", "meta-llama/Llama-3.1-8B", "flashinfer", {"h200-vllm.jsonl.zst", "h200-flashinfer.jsonl.zst"}},
    {"Roofline", "meta-llama/Llama-3.1-8B", "fa3", {}}};
INSTANTIATE_TEST_SUITE_P(Oracle, NoAllocation, testing::ValuesIn(kCases),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace dooly::oracle
