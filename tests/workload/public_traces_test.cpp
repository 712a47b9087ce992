#include "support.hpp"
#include "test_support/test_data.hpp"
#include "workload/convert.hpp"
#include "workload/stats.hpp"
#include "workload/trace_reader.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace dooly::workload {
namespace {

using namespace test;

/// A public trace, what its documentation says of it, and how it is read.
struct PublicTrace {
  const char* path;
  const char* format;
  std::uint64_t rows;
  double mean_prompt = 0;   ///< 0: not stated
  double mean_output = 0;
};
std::ostream& operator<<(std::ostream& out, const PublicTrace& trace) { return out << trace.path; }

class EveryPublicTrace : public testing::TestWithParam<PublicTrace> {};

TEST_P(EveryPublicTrace, HasTheRowsThatItIsSaidToHave) {
  const auto path = dooly::test::data_path(std::filesystem::path("data/traces") / GetParam().path);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  EXPECT_EQ(detect_format(path), GetParam().format);
  const auto source = open_trace_workload(path, GetParam().format);
  WorkloadStats stats;
  Request request;
  while (source->next_arrival_s() < kNever) {
    source->take(request);
    stats.add(request);
  }
  EXPECT_EQ(stats.requests(), GetParam().rows);
  if (GetParam().mean_prompt > 0) {
    EXPECT_NEAR(stats.prompts().mean(), GetParam().mean_prompt, 0.5);
  }
  if (GetParam().mean_output > 0) {
    EXPECT_NEAR(stats.outputs().mean(), GetParam().mean_output, 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryPublicTrace,
    testing::Values(
        PublicTrace{"azure-2023/AzureLLMInferenceTrace_code.csv.gz", "azure", 8819, 2048, 28},
        PublicTrace{"azure-2023/AzureLLMInferenceTrace_conv.csv.gz", "azure", 19366, 1155, 211},
        PublicTrace{"vidur/splitwise_code.csv.gz", "vidur", 8819, 2048, 28},
        PublicTrace{"vidur/splitwise_conv.csv.gz", "vidur", 19366, 1155, 211},
        PublicTrace{"vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv.gz", "sharegpt", 28257},
        PublicTrace{"mooncake/conversation_trace.jsonl.gz", "mooncake", 12031, 12035},
        PublicTrace{"mooncake/synthetic_trace.jsonl.gz", "mooncake", 3993, 15325},
        PublicTrace{"sharegpt/sharegpt_8k_filtered_stats_llama2_tokenizer.csv.gz", "sharegpt", 30731},
        PublicTrace{"sharegpt/sharegpt_val_10k_llama2.csv.gz", "sharegpt", 10000},
        PublicTrace{"sharegpt/sharegpt_V3_format_lens.csv.gz", "sharegpt", 58000},
        PublicTrace{"llmservingsim/sharegpt-llama-3.1-8b-300-sps10.blocks16.jsonl.gz", "llmservingsim", 300},
        PublicTrace{"llmservingsim/sharegpt-qwen3-32b-300-sps10.blocks16.jsonl.gz", "llmservingsim", 300},
        PublicTrace{"llmservingsim/workload_me2_01_mixed.jsonl.gz", "llmservingsim", 608}));

TEST(PublicTraces, ApexFilesAreRead) {
  const auto folder = dooly::test::data_path("data/traces/apex");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "missing " << folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto reader = open_trace(entry.path());
    EXPECT_EQ(reader->format(), "apex");
    TraceRow row;
    std::uint64_t rows = 0;
    while (reader->next(row)) ++rows;
    EXPECT_GT(rows, 100U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 12);
}

TEST(PublicTraces, ConvertedMooncakeIsTheSameStream) {
  const auto path = dooly::test::data_path("data/traces/mooncake/conversation_trace.jsonl.gz");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  std::ostringstream text;
  convert_trace({.input = path}, text);
  const TempFile file("converted.csv", text.str());
  const auto a = open_trace_workload(path), b = open_trace_workload(file.path());
  Request x, y;
  while (a->next_arrival_s() < kNever) {
    ASSERT_EQ(a->next_arrival_s(), b->next_arrival_s());
    a->take(x);
    b->take(y);
    ASSERT_EQ(x.prompt_tokens, y.prompt_tokens);
    ASSERT_TRUE(same_content(x, y));
  }
  EXPECT_EQ(b->next_arrival_s(), kNever);
}

/// Clients of ServeGen's busiest kind: as many requests as their rates say.
TEST(PublicTraces, ServegenClientsKeepTheirRates) {
  auto trace = trace_of(dooly::test::data_path("data/traces/servegen/m-small_client_rates.csv.gz"), "servegen");
  trace.lengths_path = dooly::test::data_path("data/traces/servegen/m-small_top8_length_pdfs.json.gz");
  for (const auto& path : {trace.path, *trace.lengths_path}) {
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  }
  trace.duration_s = 3600;
  const auto all = take_all(*make_workload({named("a", trace)}, 1));
  trace.duration_s = 7200;
  const auto other = take_all(*make_workload({named("a", trace)}, 1));
  ASSERT_GT(all.size(), 1000U);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].request.arrival_s, other[i].request.arrival_s);
}

}  // namespace
}  // namespace dooly::workload
