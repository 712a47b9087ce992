#include "profile_folder.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_import/export_profile.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>

namespace dooly::import_ {
namespace {

using test::MemorySamples;
using test::ProfileFolder;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Column `name` of each row, by header; empty where the file has no such column.
std::vector<std::string> column(const std::string& csv, const std::string& name) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out(1);
    for (const char c : line) c == ',' ? (void)out.emplace_back() : out.back().push_back(c);
    return out;
  };
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  const auto header = cells(line);
  const auto at = std::find(header.begin(), header.end(), name);
  std::vector<std::string> out;
  if (at == header.end()) return out;
  while (std::getline(in, line)) out.push_back(cells(line).at(static_cast<std::size_t>(at - header.begin())));
  return out;
}

oracle::Sample sample_at(oracle::SamplePoint point, double seconds) {
  oracle::Sample sample;
  sample.point = point;
  sample.regime = oracle::ClockRegime::kCool;
  sample.count = 5;
  sample.median_s = sample.mean_s = sample.min_s = seconds;
  return sample;
}

constexpr const char* kSizedModel = "meta-llama/Llama-3.1-8B";
constexpr const char* kSizedFolder = "compute/H200/meta-llama/Llama-3.1-8B/";

/// Samples that are not suspect, without their notes.
std::map<std::string, std::vector<oracle::Sample>> sound(const MemorySamples& samples) {
  std::map<std::string, std::vector<oracle::Sample>> out;
  for (const auto& set : samples.sets())
    for (const oracle::Sample& sample : set.samples)
      if (sample.status == oracle::SampleStatus::kOk) out[test::operation(set.key)].push_back(sample);
  return out;
}

/// Import of what was exported equals the import. Neighbours of samples that were left out may become suspect
/// themselves, so the second import is compared with all of its samples, suspicion aside.
void expect_round_trip(const std::string& format, const MemorySamples& first, const ExportOptions& options) {
  const ProfileFolder folder;
  const ExportReport report = export_profile(format, first, options, folder.path());
  EXPECT_GT(report.rows, 0u);
  MemorySamples again;
  import_profile(format, folder.path(), {}, again);
  std::map<std::string, std::vector<oracle::Sample>> second;
  for (const auto& set : again.sets())
    for (oracle::Sample sample : set.samples) {
      sample.status = oracle::SampleStatus::kOk;
      sample.note.clear();
      second[test::operation(set.key)].push_back(sample);
    }
  const auto expected = sound(first);
  ASSERT_EQ(second.size(), expected.size());
  for (const auto& [operation, samples] : expected) {
    const auto found = second.find(operation);
    ASSERT_NE(found, second.end()) << operation;
    ASSERT_EQ(found->second.size(), samples.size()) << operation;
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(found->second[i], samples[i]) << operation << " sample " << i;
  }
}

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

TEST(ExportVidur, ReadsBackAsTheSameSamples) {
  const ProfileFolder folder;
  const auto stats = [](const std::string& name) {
    std::string out;
    for (const char* figure : {"min", "max", "mean", "median", "std"}) out += "time_stats." + name + "." + figure + ",";
    return out;
  };
  folder.write(
      "compute/a100/meta-llama/Llama-2-7b-hf/mlp.csv",
      stats("input_layernorm") + stats("post_attention_layernorm") + stats("attn_pre_proj") + stats("emb") +
          "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
          "0.003,0.004,0.0033,0.0031,0.0002,0.004,0.006,0.0044,0.0043,0.0002,0.01,0.014,0.012,0.0111,0.001,0.002,0.002,"
          "0.002,0.002,0,32,32,4096,11008,32768,True,1,1\n"
          "0.003,0.004,0.0034,0.0032,0.0002,0.004,0.006,0.0044,0.0043,0.0002,0.01,0.014,0.012,0.0113,0.001,0.002,0.002,"
          "0.002,0.002,0,32,32,4096,11008,32768,True,2,1\n");
  folder.write(
      "compute/a100/meta-llama/Llama-2-7b-hf/attention.csv",
      stats("attn_prefill") + stats("attn_decode") +
          "n_embd,n_q_head,n_kv_head,block_size,num_tensor_parallel_workers,max_model_len,batch_size,prefill_chunk_"
          "size,kv_cache_size,is_prefill,attention_backend\n"
          "2.2,2.4,2.3,2.3,0.1,,,,,,4096,32,32,16,1,4096,1,512,1024,True,AttentionBackend.FLASH_ATTENTION\n"
          ",,,,,0.014,0.016,0.0145,0.015,0.001,4096,32,32,16,1,4096,4,0,64,False,AttentionBackend.FLASH_ATTENTION\n");
  folder.write("network/a100_dgx/all_reduce.csv",
               std::string(",") + stats("all_reduce") +
                   "rank,num_workers,size,collective,devices_per_node,max_devices_per_node\n0,0.03,0.07,0.05,0.043,0."
                   "01,0,2,2048,all_reduce,2,8\n");
  MemorySamples first;
  import_profile("vidur", folder.path(), {}, first);
  expect_round_trip("vidur", first, {.model = "meta-llama/Llama-2-7b-hf", .gpu = "a100"});
}

/// Operators of Llama-3.1-8B as a sweep leaves them: each at sizes of its own.
MemorySamples sized_differently() {
  const oracle::LinearTypes types{"bfloat16", "bfloat16", "bfloat16"};
  MemorySamples samples;
  samples.environment({});
  const auto add = [&](const oracle::OperatorKey& key, std::initializer_list<std::pair<std::uint64_t, double>> times) {
    for (const auto& [rows, us] : times) samples.sample(key, sample_at({rows}, us * 1e-6));
  };
  add(oracle::embedding_key("bfloat16", 128256, 4096), {{1, 2}, {64, 3}});
  add(oracle::rms_norm_key("bfloat16", 4096, false), {{1, 2}, {64, 2.5}});
  add(oracle::rms_norm_key("bfloat16", 4096, true), {{1, 2.25}, {64, 2.75}});
  add(oracle::linear_key(types, 4096, 6144), {{1, 16}, {32, 17}, {64, 18}});
  add(oracle::rope_key("bfloat16", 32, 8, 128), {{1, 3}, {33, 4}, {65, 5}});
  add(oracle::linear_key(types, 4096, 4096), {{1, 13}, {64, 14}});
  add(oracle::linear_key(types, 4096, 28672), {{1, 56}, {64, 60}});
  add(oracle::activation_key("silu_and_mul", "bfloat16", 14336), {{1, 3.5}, {64, 4.5}});
  add(oracle::linear_key(types, 14336, 4096), {{1, 31}, {64, 33}});
  return samples;
}

TEST(ExportVidur, HasEveryOperatorInEachRow) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  const ExportReport report = export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  const std::string csv = read_text(folder.path() / (std::string(kSizedFolder) + "mlp.csv"));
  EXPECT_EQ(column(csv, "num_tokens"), (std::vector<std::string>{"1", "32", "33", "64", "65"}));
  for (const char* name : {"emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj",
                           "post_attention_layernorm", "mlp_up_proj", "mlp_act", "mlp_down_proj"})
    for (const std::string& cell : column(csv, std::string("time_stats.") + name + ".median"))
      EXPECT_GT(std::strtod(cell.c_str(), nullptr), 0) << name;
  // Rope between 1 and 33 rows and 33 and 65: its time grows with its bytes, so 3 us + 31/32 and 4 us + 31/32.
  const auto rope = column(csv, "time_stats.attn_rope.median");
  EXPECT_EQ(rope[0], "0.003");
  EXPECT_NEAR(std::stod(rope[1]), 3e-3 + 1e-3 * 31 / 32, 1e-9);
  EXPECT_EQ(rope[2], "0.004");
  EXPECT_NEAR(std::stod(rope[3]), 4e-3 + 1e-3 * 31 / 32, 1e-9);
  EXPECT_EQ(column(csv, "time_stats.attn_rope.count"), (std::vector<std::string>{"5", "0", "5", "0", "5"}));
  EXPECT_EQ(column(csv, "predicted_operators")[0], "");
  EXPECT_EQ(column(csv, "predicted_operators")[3], "attn_rope");
  EXPECT_EQ(column(csv, "predicted_operators")[1],
            "emb input_layernorm attn_rope attn_post_proj post_attention_layernorm mlp_up_proj mlp_act mlp_down_proj");
}

TEST(ExportVidur, CountsWhatIsPredictedAndHowMuchOfItIsBeyond) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  const ExportReport report = export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  // 5 sizes of 9 operators; measured are 7 x 2 and 2 x 3. At 65 rows, 8 operators end before.
  EXPECT_EQ(std::count(report.notes.begin(), report.notes.end(),
                       "mlp.csv: 25 of 45 cells are predictions, since not every operator was measured at every size; "
                       "column predicted_operators names them (8 beyond the sizes that the operator was measured at)"),
            1)
      << report.text();
}

TEST(ExportVidur, FusedNormStandsForTheAdditionThatWasNotMeasured) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  const std::string csv = read_text(folder.path() / (std::string(kSizedFolder) + "mlp.csv"));
  EXPECT_EQ(column(csv, "time_stats.input_layernorm.median")[0], "0.00225");
  EXPECT_EQ(column(csv, "time_stats.post_attention_layernorm.median")[0], "0.00225");
  EXPECT_EQ(column(csv, "time_stats.add.median")[0], "");
}

TEST(ExportVidur, PredictionsAreNotReadBackAsMeasured) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  MemorySamples again;
  import_profile("vidur", folder.path(), {}, again);
  // The plain norm of the table is what the fused one was measured to take.
  EXPECT_EQ(again.count, samples.count - 2);
  const oracle::Signature rope = signature_of(oracle::rope_key("bfloat16", 32, 8, 128));
  ASSERT_EQ(again.samples(rope).size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again.samples(rope)[i].median_s, samples.samples(rope)[i].median_s);
}

TEST(ExportVidur, LeavesGapsWhereTheGpuIsNotKnown) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  const ExportReport report = export_profile("vidur", samples, {.model = kSizedModel, .gpu = "X1"}, folder.path());
  EXPECT_NE(report.text().find("25 of 45 cells are empty, since `dooly list gpus` does not know X1"), std::string::npos)
      << report.text();
  EXPECT_TRUE(
      column(read_text(folder.path() / "compute/X1/meta-llama/Llama-3.1-8B/mlp.csv"), "predicted_operators").empty());
}

TEST(ExportVidur, TakesOneTimeAPointAndOnePromptAPrefill) {
  MemorySamples samples = sized_differently();
  const oracle::OperatorKey rope = oracle::rope_key("bfloat16", 32, 8, 128);
  oracle::Sample hot = sample_at({33}, 9e-6);
  hot.regime = oracle::ClockRegime::kSustained;
  samples.sample(rope, hot);
  const oracle::OperatorKey attention = oracle::attention_key(
      "bfloat16", "bfloat16", {.heads = 32, .kv_heads = 8, .head_dim = 128, .block_size = 16}, "fa3");
  samples.sample(attention, sample_at({1, 512, 256}, 50e-6));
  samples.sample(attention, sample_at({4, 512, 256}, 190e-6));
  samples.sample(attention, sample_at({0, 0, 0, 8, 1023}, 20e-6));
  const ProfileFolder folder;
  const ExportReport report = export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  EXPECT_EQ(
      column(read_text(folder.path() / (std::string(kSizedFolder) + "mlp.csv")), "time_stats.attn_rope.median")[2],
      "0.004");
  const std::string csv = read_text(folder.path() / (std::string(kSizedFolder) + "attention.csv"));
  EXPECT_EQ(column(csv, "batch_size"), (std::vector<std::string>{"1", "8"}));
  EXPECT_EQ(column(csv, "kv_cache_size"), (std::vector<std::string>{"256", "1023"}));
  EXPECT_EQ(column(csv, "time_stats.attn_prefill.median"), (std::vector<std::string>{"0.05", ""}));
  EXPECT_EQ(report.left_out,
            (std::map<std::string, std::uint64_t>{{"at the sustained clock; the layout has one time a point", 1},
                                                  {"prefills of several prompts, which Vidur would take for one", 1}}));
}

TEST(ExportProfile, SaysWhatItNeeds) {
  const MemorySamples nothing;
  const ProfileFolder folder;
  EXPECT_THROW(export_profile("frontier", nothing, {.model = "m", .gpu = "A100"}, folder.path()), ImportError);
  EXPECT_THROW(export_profile("vidur", nothing, {.model = "meta-llama/Llama-3.1-8B"}, folder.path()), ImportError);
  EXPECT_THROW(export_profile("vidur", nothing, {.gpu = "A100"}, folder.path()), ImportError);
  for (const char* path : {"../up", "a/b", "..", "."})
    EXPECT_THROW(export_profile("vidur", nothing, {.model = "meta-llama/Llama-3.1-8B", .gpu = path}, folder.path()),
                 ImportError);
  EXPECT_THROW(export_profile("vidur", nothing, {.model = "no/such", .gpu = "A100"}, folder.path()), ImportError);
  EXPECT_THROW(export_profile("vidur", nothing, {.model = "meta-llama/Llama-3.1-8B", .gpu = "A100"}, folder.path()),
               ImportError);
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

TEST(ExportRealProfile, OfVidurReadsBack) {
  const auto path = dooly::test::data_path("data/profiles/vidur/compute/a100/meta-llama--Meta-Llama-3-8B");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  MemorySamples first;
  import_profile("vidur", path, {}, first);
  expect_round_trip("vidur", first,
                    {.model = "meta-llama/Meta-Llama-3-8B", .gpu = "a100", .tensor_parallel = {1, 2, 4, 8}});
}

}  // namespace
}  // namespace dooly::import_
