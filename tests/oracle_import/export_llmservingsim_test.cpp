#include "exported.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace dooly::import_ {
namespace {

using test::column;
using test::expect_round_trip;
using test::MemorySamples;
using test::ProfileFolder;
using test::read_text;
using test::sample_at;

constexpr const char* kSizedModel = "meta-llama/Llama-3.1-8B";

void write_small_profile(const ProfileFolder& folder) {
  const std::string at = "RTXPRO6000/meta-llama/Llama-3.1-8B/bf16/";
  folder.write(at + "meta.yaml", "gpu: RTX-PRO-6000\nmeasurement_iterations: 3\n");
  folder.write(at + "tp1/dense.csv",
               "layer,tokens,time_us\nqkv_proj,1,20.1\nqkv_proj,2,20.30003\nlayernorm,1,2.4\nfinal_layernorm,1,2.6\no_"
               "proj,1,15\n");
  folder.write(at + "tp1/per_sequence.csv", "layer,sequences,time_us\nlm_head,4,400\nsampler,4,30\n");
  folder.write(at + "tp1/attention.csv",
               "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,2,320,20\n0,0,2,512,30\n64,0,4,128,40\n");
  folder.write(at + "tp1/skew.csv",
               "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha\npure,2,1,0.5,4.0,0,"
               "0,128,512,320,60.7,90,66,0.2\n");
}

TEST(ExportLLMServingSim, ReadsBackAsTheSameSamples) {
  const ProfileFolder folder;
  write_small_profile(folder);
  MemorySamples first;
  import_profile("llmservingsim", folder.path(), {}, first);
  expect_round_trip("llmservingsim", first, {.model = "meta-llama/Llama-3.1-8B", .gpu = "RTX-PRO-6000"});
}

TEST(ExportLLMServingSim, WritesTheFilesThatItsSimulatorReads) {
  const ProfileFolder folder, target;
  write_small_profile(folder);
  MemorySamples first;
  import_profile("llmservingsim", folder.path(), {}, first);
  const ExportReport report =
      export_profile("llmservingsim", first,
                     {.model = "meta-llama/Llama-3.1-8B", .gpu = "RTXPRO6000", .engine = "vllm=0.19.0"}, target.path());
  const std::string at = "RTXPRO6000/meta-llama/Llama-3.1-8B/bf16/";
  EXPECT_EQ(report.files,
            (std::vector<std::string>{at + "tp1/dense.csv", at + "tp1/per_sequence.csv", at + "tp1/attention.csv",
                                      at + "tp1/skew.csv", at + "tp1/skew_fit.csv", at + "meta.yaml"}));
  EXPECT_TRUE(std::count(report.missing.begin(), report.missing.end(), "down_proj (tp1)"));
}

TEST(ExportLLMServingSim, HasTheSamplerOfOneGpuInEveryFolder) {
  const ProfileFolder folder;
  MemorySamples samples;
  samples.environment({});
  samples.sample(oracle::sample_key("bfloat16", 128256), sample_at({4}, 30e-6));
  const ExportReport report = export_profile(
      "llmservingsim", samples, {.model = kSizedModel, .gpu = "H200", .tensor_parallel = {1, 2}}, folder.path());
  for (const char* tp : {"tp1", "tp2"})
    EXPECT_EQ(read_text(folder.path() / "H200/meta-llama/Llama-3.1-8B/bf16" / tp / "per_sequence.csv"),
              "layer,sequences,time_us,count,mean_us,std_us,min_us,p10_us,p90_us\nsampler,4,30,5,30,0,30,0,0\n");
}

TEST(ExportLLMServingSim, WithReplaceRemovesWhatItDoesNotWrite) {
  const ProfileFolder folder;
  const std::string at = "H200/meta-llama/Llama-3.1-8B/bf16/";
  for (const char* file : {"tp1/skew.csv", "tp1/attention_off_grid.csv", "tp2/dense.csv", "tp4/moe.csv", "tp4/own.csv"})
    folder.write(at + file, "old\n");
  folder.write("H200/meta-llama/Llama-3.1-8B/fp16/tp2/dense.csv", "another variant\n");
  MemorySamples samples;
  samples.environment({});
  samples.sample(oracle::sample_key("bfloat16", 128256), sample_at({4}, 30e-6));
  const ExportReport report =
      export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "H200", .replace = true}, folder.path());
  EXPECT_EQ(report.removed, (std::vector<std::string>{at + "tp1/attention_off_grid.csv", at + "tp1/skew.csv",
                                                      at + "tp2/dense.csv", at + "tp4/moe.csv"}));
  EXPECT_NE(report.text().find("Removed, since they are of an earlier export and not of this one:\n  " + at),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / at / "tp2"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / at / "tp4/own.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / at / "tp1/per_sequence.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "H200/meta-llama/Llama-3.1-8B/fp16/tp2/dense.csv"));
}

TEST(ExportLLMServingSim, NamesTheVariantAfterTheType) {
  for (const auto& [dtype, variant] : {std::pair{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}}) {
    MemorySamples samples;
    samples.environment({});
    samples.sample(oracle::sample_key(dtype, 128256), sample_at({4}, 30e-6));
    const ProfileFolder folder;
    export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "H200/meta-llama/Llama-3.1-8B" / variant / "meta.yaml"))
        << variant;
    MemorySamples again;
    import_profile("llmservingsim", folder.path(), {}, again);
    EXPECT_EQ(again.samples(signature_of(oracle::sample_key(dtype, 128256))).size(), 1u) << dtype;
  }
}

constexpr const char* kExpertsModel = "Qwen/Qwen3-30B-A3B";

oracle::OperatorKey experts_key() {
  return oracle::moe_experts_key("bfloat16", "bfloat16",
                                 {.hidden = 2048, .intermediate = 768, .local_experts = 128, .top_k = 8});
}

/// Experts as a sweep leaves them: of balanced routing, their number not told.
MemorySamples experts_of_a_sweep() {
  MemorySamples samples;
  samples.environment({});
  for (const auto& [tokens, us] : {std::pair{1, 30.0}, {2, 48.0}, {16, 298.0}, {64, 306.0}})
    samples.sample(experts_key(), sample_at({static_cast<std::uint64_t>(tokens)}, us * 1e-6));
  samples.sample(experts_key(), sample_at({16, 0, 1}, 160e-6));
  samples.sample(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 2048, 128), sample_at({1}, 6e-6));
  samples.sample(oracle::topk_softmax_key("bfloat16", {.experts = 128, .top_k = 8}), sample_at({1}, 2e-6));
  return samples;
}

TEST(ExportLLMServingSim, PredictsExpertsByTheirNumberFromBalancedRouting) {
  const MemorySamples samples = experts_of_a_sweep();
  const ProfileFolder folder;
  const ExportReport report =
      export_profile("llmservingsim", samples, {.model = kExpertsModel, .gpu = "H200"}, folder.path());
  const std::string csv = read_text(folder.path() / "H200/Qwen/Qwen3-30B-A3B/bf16/tp1/moe.csv");
  // 1 to 64 tokens, 8 to 128 experts, no more than the tokens choose: 1 + 2 + 3 + 4 + 5 + 5 + 5.
  EXPECT_EQ(column(csv, "predicted_operators"), std::vector<std::string>(25, "moe"));
  EXPECT_EQ(column(csv, "tokens")[1], "2");
  EXPECT_EQ(column(csv, "activated_experts")[14], "128");
  EXPECT_NEAR(std::stod(column(csv, "time_us")[0]), 30 + 6 + 2, 1e-9);  // the router's product and choice
  EXPECT_EQ(report.left_out.at("experts of uneven loads, which the layout cannot hold"), 1u);
  EXPECT_NE(report.text().find("25 predictions from 4 samples of balanced routing"), std::string::npos);
}

TEST(ExportLLMServingSim, PredictedExpertsAreNotReadBack) {
  const MemorySamples samples = experts_of_a_sweep();
  const ProfileFolder folder;
  export_profile("llmservingsim", samples, {.model = kExpertsModel, .gpu = "H200"}, folder.path());
  MemorySamples again;
  import_profile("llmservingsim", folder.path(), {}, again);
  EXPECT_EQ(again.text, "");
}

TEST(ExportLLMServingSim, ExpertsOfAKnownNumberReadBack) {
  MemorySamples samples;
  samples.environment({});
  for (const std::uint64_t experts : {8u, 16u}) samples.sample(experts_key(), sample_at({2, experts}, 50e-6));
  samples.sample(experts_key(), sample_at({4}, 90e-6));
  const ProfileFolder folder;
  const ExportReport report =
      export_profile("llmservingsim", samples, {.model = kExpertsModel, .gpu = "H200"}, folder.path());
  MemorySamples again;
  import_profile("llmservingsim", folder.path(), {}, again);
  const auto read = again.samples(signature_of(experts_key()));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].point, (oracle::SamplePoint{2, 16}));
  EXPECT_EQ(read[1].median_s, 50e-6);
  EXPECT_EQ(report.left_out.at("experts without their activated number"), 1u);
}

/// Attention of Llama-3.1-8B as a sweep leaves it: chunks, decodes and both, hardly two of one series.
MemorySamples attention_of_a_sweep() {
  MemorySamples samples;
  samples.environment({});
  const oracle::OperatorKey key = oracle::attention_key(
      "bfloat16", "bfloat16", {.heads = 32, .kv_heads = 8, .head_dim = 128, .block_size = 16}, "fa3");
  const auto add = [&](const oracle::SamplePoint& point, double us) {
    samples.sample(key, sample_at(point, us * 1e-6));
  };
  for (const auto& [query, us] : {std::pair{16u, 9.0}, {48, 10.0}, {100, 12.0}, {128, 13.0}}) add({1, query}, us);
  add({1, 64, 32}, 11);
  for (const auto& [decodes, us] : {std::pair{1u, 8.0}, {3, 8.5}, {8, 10.0}}) {
    add({0, 0, 0, decodes, 1023}, us);
    add({0, 0, 0, decodes, 127}, us - 0.5);
  }
  add({0, 0, 0, 4, 512}, 9.25);
  add({1, 80, 0, 6, 700}, 17);
  add({0, 0, 0, 8, 128, 2, 512}, 9.5);
  return samples;
}

TEST(ExportLLMServingSim, FillsTheGridOfAttentionThatASweepLeavesOpen) {
  const MemorySamples samples = attention_of_a_sweep();
  const ProfileFolder folder;
  export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  const std::string csv = read_text(folder.path() / "H200/meta-llama/Llama-3.1-8B/bf16/tp1/attention.csv");
  // Chunks 16 to 128 on 0, 16 or 32 tokens, alone or beside 1 to 8 decodes of 16 to 1,024 tokens; and these alone.
  EXPECT_EQ(column(csv, "time_us").size(), 4u * 3 * (1 + 4 * 7) + 4 * 7);
  for (const std::string& cell : column(csv, "time_us")) EXPECT_GT(std::stod(cell), 0);
  const auto predicted = column(csv, "predicted_operators");
  EXPECT_EQ(std::count(predicted.begin(), predicted.end(), ""), 4);  // 16, 128, 64 on 32 tokens, 4 decodes at 512
  EXPECT_NE(csv.find("\n0,0,4,512,9.25,5,9.25,0,9.25,0,0,\n"), std::string::npos) << csv.substr(0, 2000);
  EXPECT_EQ(
      column(read_text(folder.path() / "H200/meta-llama/Llama-3.1-8B/bf16/tp1/attention_off_grid.csv"), "n_decode"),
      (std::vector<std::string>{"1", "1", "3", "3", "8", "8", "0", "6", "0"}));
}

TEST(ExportLLMServingSim, AttentionThatWasPredictedIsNotReadBack) {
  const MemorySamples samples = attention_of_a_sweep();
  const ProfileFolder folder;
  export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  MemorySamples again;
  import_profile("llmservingsim", folder.path(), {}, again);
  ASSERT_EQ(again.by_signature.size(), 1u);
  const auto& [key, read] = again.by_signature.begin()->second;
  EXPECT_EQ(signature_of(key), samples.by_signature.begin()->first);
  const auto& before = samples.by_signature.begin()->second.second;
  ASSERT_EQ(read.size(), before.size());
  for (const oracle::Sample& sample : before) {
    const auto same = std::find_if(read.begin(), read.end(), [&](const auto& r) { return r.point == sample.point; });
    ASSERT_NE(same, read.end());
    EXPECT_EQ(same->median_s, sample.median_s);
    EXPECT_EQ(same->count, sample.count);
  }
}

TEST(ExportLLMServingSim, FitsTheSkewOfASweepOnPredictedBatches) {
  const MemorySamples samples = attention_of_a_sweep();
  const ProfileFolder folder;
  export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  const std::string at = "H200/meta-llama/Llama-3.1-8B/bf16/";
  const std::string csv = read_text(folder.path() / (at + "tp1/skew_fit.csv"));
  const auto predicted = column(csv, "predicted_operators");
  ASSERT_FALSE(predicted.empty());
  EXPECT_EQ(std::count(predicted.begin(), predicted.end(), "attention"), static_cast<long>(predicted.size()));
  for (const std::string& alpha : column(csv, "alpha")) {
    EXPECT_GE(std::stod(alpha), -0.5) << csv;
    EXPECT_LE(std::stod(alpha), 1.5) << csv;
  }
  EXPECT_NE(read_text(folder.path() / (at + "meta.yaml")).find("bucket_table: tp1/skew_fit.csv"), std::string::npos);
}

TEST(ExportLLMServingSim, LeavesAttentionOfAGpuThatIsNotKnownAsMeasured) {
  const MemorySamples samples = attention_of_a_sweep();
  const ProfileFolder folder;
  const ExportReport report =
      export_profile("llmservingsim", samples, {.model = kSizedModel, .gpu = "X1"}, folder.path());
  EXPECT_EQ(report.rows, 14u);  // 13 of one length, 1 of two
  EXPECT_TRUE(
      column(read_text(folder.path() / "X1/meta-llama/Llama-3.1-8B/bf16/tp1/attention.csv"), "predicted_operators")
          .empty());
}

TEST(ExportLLMServingSim, PredictsNothingOfAGpuThatIsNotKnown) {
  MemorySamples samples = experts_of_a_sweep();
  samples.sample(oracle::sample_key("bfloat16", 151936), sample_at({4}, 30e-6));
  const ProfileFolder folder;
  const ExportReport report =
      export_profile("llmservingsim", samples, {.model = kExpertsModel, .gpu = "X1"}, folder.path());
  EXPECT_EQ(report.rows, 1u);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "X1/Qwen/Qwen3-30B-A3B/bf16/tp1/moe.csv"));
  EXPECT_EQ(report.left_out.at("experts without their activated number"), 5u);
}

TEST(ExportShippedStore, ToLLMServingSimReadsBackToTheBit) {
  const auto store = store::open_sample_source({dooly::test::source_path("stores/h200-vllm.jsonl.zst")});
  const ProfileFolder folder;
  export_profile("llmservingsim", *store, {.model = kExpertsModel, .gpu = "H200", .tensor_parallel = {1, 2}},
                 folder.path());
  MemorySamples again;
  import_profile("llmservingsim", folder.path(), {}, again);
  EXPECT_GT(again.count, 1000u);
  for (const auto& [signature, known] : again.by_signature) {
    const auto measured = store->samples(signature);
    for (const oracle::Sample& read : known.second) {
      const auto same = std::find_if(measured.begin(), measured.end(), [&](const oracle::Sample& sample) {
        return sample.point == read.point && sample.regime != oracle::ClockRegime::kSustained;
      });
      ASSERT_NE(same, measured.end()) << test::operation(known.first) << ": nobody measured " << read.median_s;
      EXPECT_EQ(
          std::tie(read.count, read.median_s, read.mean_s, read.std_s, read.min_s, read.p10_s, read.p90_s),
          std::tie(same->count, same->median_s, same->mean_s, same->std_s, same->min_s, same->p10_s, same->p90_s));
    }
  }
}

TEST(ExportRealProfile, OfLLMServingSimReadsBack) {
  const auto path = dooly::test::data_path("data/profiles/llmservingsim/RTXPRO6000/Qwen--Qwen3-32B");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  MemorySamples first;
  import_profile("llmservingsim", path, {}, first);
  expect_round_trip("llmservingsim", first,
                    {.model = "Qwen/Qwen3-32B", .gpu = "RTX-PRO-6000", .tensor_parallel = {1, 2}});
}

TEST(ExportRealProfile, OfLLMServingSimIsCompleteAndGetsNoPredictions) {
  const auto path = dooly::test::data_path("data/profiles/llmservingsim/RTXPRO6000/Qwen--Qwen3-30B-A3B-Instruct-2507");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  MemorySamples first;
  import_profile("llmservingsim", path, {}, first);
  const ProfileFolder folder;
  const ExportReport report =
      export_profile("llmservingsim", first, {.model = kExpertsModel, .gpu = "RTX-PRO-6000", .tensor_parallel = {1, 2}},
                     folder.path());
  EXPECT_TRUE(report.notes.empty()) << report.text();
  EXPECT_EQ(report.missing, std::vector<std::string>{"moe (tp2)"});  // its profiler measures experts on one GPU
  for (const std::string& file : report.files)
    EXPECT_EQ(read_text(folder.path() / file).find("predicted_operators"), std::string::npos) << file;
}

}  // namespace
}  // namespace dooly::import_
