#include "exported.hpp"

#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/step_plan.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <set>
#include <utility>

namespace dooly::import_ {
namespace {

using test::column;
using test::expect_round_trip;
using test::MemorySamples;
using test::ProfileFolder;
using test::read_text;
using test::sample_at;

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

constexpr const char* kSizedModel = "meta-llama/Llama-3.1-8B";
constexpr const char* kSizedFolder = "compute/H200/meta-llama/Llama-3.1-8B/";

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
  EXPECT_EQ(again.count, samples.count - 2);  // no norms without an addition: the fused ones stand for them
  const oracle::Signature rope = signature_of(oracle::rope_key("bfloat16", 32, 8, 128));
  ASSERT_EQ(again.samples(rope).size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again.samples(rope)[i].median_s, samples.samples(rope)[i].median_s);
}

TEST(ExportVidur, FusedNormsAreReadBackAsFused) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  const ExportReport report = export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  const std::string csv = read_text(folder.path() / (std::string(kSizedFolder) + "mlp.csv"));
  const std::string both = "input_layernorm post_attention_layernorm";
  EXPECT_EQ(column(csv, "fused_operators"), (std::vector<std::string>{both, "", "", both, ""}));
  EXPECT_EQ(report.left_out.at("norms without an addition, for which the fused ones stand"), 2u);
  MemorySamples again;
  import_profile("vidur", folder.path(), {.dtype = "bfloat16"}, again);
  EXPECT_TRUE(again.samples(signature_of(oracle::rms_norm_key("bfloat16", 4096, false))).empty());
  const auto read = again.samples(signature_of(oracle::rms_norm_key("bfloat16", 4096, true)));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].median_s, 2.25e-6);
  EXPECT_EQ(read[1].median_s, 2.75e-6);
}

/// What a model's step runs with LibTorch's own kernels, each operator of tokens at one and 64 rows.
MemorySamples kernels_of_torch(const std::string& dtype) {
  MemorySamples samples;
  samples.environment({});
  const auto plan =
      oracle::make_plan(oracle::resolve_model(kSizedModel), {.backend = "torch", .dtype = dtype, .kv_dtype = dtype});
  std::set<oracle::Signature> seen;
  for (const oracle::PlanEntry& entry : plan.entries) {
    if (!seen.insert(entry.signature).second) continue;
    if (entry.key.kind == "attention")
      samples.sample(entry.key, sample_at({0, 0, 0, 64, 1023}, 90e-6));
    else
      for (const std::uint64_t rows : {1u, 64u})
        samples.sample(entry.key, sample_at({rows}, static_cast<double>(1000 + rows) * 1e-6));
  }
  return samples;
}

TEST(ExportVidur, KernelsOfTorchAreFoundAndReadBack) {
  for (const std::string dtype : {"bfloat16", "float32"})
    for (const std::string backend : {"torch", ""}) {
      const MemorySamples samples = kernels_of_torch(dtype);
      const ProfileFolder folder;
      const ExportReport report = export_profile(
          "vidur", samples, {.model = kSizedModel, .gpu = "H200", .dtype = dtype, .backend = backend}, folder.path());
      EXPECT_EQ(report.missing, std::vector<std::string>{"add (tp1)"}) << report.text();
      MemorySamples again;
      import_profile("vidur", folder.path(), {}, again);
      EXPECT_GT(again.count, 15u);
      for (const auto& [signature, known] : again.by_signature)
        EXPECT_TRUE(samples.by_signature.contains(signature)) << test::operation(known.first);
    }
}

TEST(ExportVidur, WithReplaceRemovesTheTableThatItDoesNotWrite) {
  const MemorySamples samples = sized_differently();
  const ProfileFolder folder;
  const auto old = folder.write(std::string(kSizedFolder) + "attention.csv", "old\n");
  const auto own = folder.write(std::string(kSizedFolder) + "notes.txt", "mine\n");
  export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200"}, folder.path());
  EXPECT_TRUE(std::filesystem::exists(old));
  const ExportReport report =
      export_profile("vidur", samples, {.model = kSizedModel, .gpu = "H200", .replace = true}, folder.path());
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(own));
  EXPECT_EQ(report.removed, std::vector<std::string>{std::string(kSizedFolder) + "attention.csv"});
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
                                                  {"norms without an addition, for which the fused ones stand", 2},
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
