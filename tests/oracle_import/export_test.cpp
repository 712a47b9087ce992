#include "profile_folder.hpp"

#include "oracle_import/export_profile.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::import_ {
namespace {

using test::MemorySamples;
using test::ProfileFolder;

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
