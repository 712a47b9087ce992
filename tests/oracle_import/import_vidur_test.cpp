#include "profile_folder.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace dooly::import_ {
namespace {

using test::MemorySamples;
using test::ProfileFolder;

std::string stats(const std::string& name) {
  std::string out;
  for (const char* figure : {"min", "max", "mean", "median", "std"}) out += "time_stats." + name + "." + figure + ",";
  return out;
}

TEST(Vidur, OneRowHoldsEveryTokenOperator) {
  const ProfileFolder folder;
  std::string header;
  for (const char* name : {"emb", "input_layernorm", "attn_pre_proj", "mlp_up_proj", "mlp_act", "add"})
    header += stats(name);
  folder.write(
      "compute/a100/meta-llama--Llama-2-7b-hf/mlp.csv",
      header +
          "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
          "0.003,0.004,0.003,0.003,0,0.004,0.005,0.0046,0.0045,0.0005,0.01,0.014,0.012,0.011,0.001,0.02,0.02,0.02,0.02,"
          "0,0.002,0.002,0.002,0.002,0,"
          "0.0,0.0,0.0,0.0,0.0,32,32,4096,11008,32768,True,1,8\n");
  MemorySamples out;
  const ImportReport report = import_profile("vidur", folder.path(), {}, out);
  EXPECT_EQ(out.text,
            "# A100-SXM-80GB vidur \n"
            "embedding float16 4096x4096 m torch | 1,0,0,0,0,0,0 | 3 n=0\n"
            "rms_norm float16 4096 m vllm-c | 1,0,0,0,0,0,0 | 4.5 n=0\n"
            "linear float16/float16/float16 4096x1536 m cublas | 1,0,0,0,0,0,0 | 11 n=0\n"
            "linear float16/float16/float16 4096x2752 m cublas | 1,0,0,0,0,0,0 | 20 n=0\n"
            "silu_and_mul float16 1376 m vllm-c | 1,0,0,0,0,0,0 | 2 n=0\n");
  EXPECT_EQ(report.findings.at("zero").count, 1u);
  const auto samples = out.samples(signature_of(out.sets().front().key));
  ASSERT_FALSE(samples.empty());
}

/// Why a table with this cell in its column of names is refused.
std::string refused(const std::string& format, const std::string& file, const std::string& text) {
  const ProfileFolder folder;
  folder.write(file, text);
  MemorySamples out;
  try {
    import_profile(format, folder.path(), {}, out);
  } catch (const ImportError& error) {
    return error.what();
  }
  return {};
}

TEST(NamedOperators, NoTableMayMisspellThem) {
  const std::string mlp = "compute/a100/meta-llama--Llama-2-7b-hf/mlp.csv";
  const std::string shape =
      "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers,";
  const std::string row = "0.003,0.004,0.003,0.003,0,32,32,4096,11008,32768,True,1,1,";
  for (const auto& [column, cell, name] :
       {std::tuple{"predicted_operators", "add embb", "embb"}, {"fused_operators", "emb", "emb"}}) {
    const std::string why =
        refused("vidur", mlp, stats("emb") + shape + column + "\n" + row + "\n" + row + cell + "\n");
    EXPECT_NE(why.find("mlp.csv:3: column " + std::string(column) + ": no operator is called '" + name + "'; known: "),
              std::string::npos)
        << why;
  }
  const std::string at = "H200/meta-llama/Llama-3.1-8B/bf16/tp1/";
  const std::string attention = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us,predicted_operators\n";
  EXPECT_NE(refused("llmservingsim", at + "attention.csv", attention + "0,0,2,320,20,attenton\n")
                .find("attention.csv:2: column predicted_operators: no operator of this table is called 'attenton'; "
                      "known: attention"),
            std::string::npos);
  EXPECT_EQ(refused("llmservingsim", at + "attention.csv", attention + "0,0,2,320,20,\n0,0,2,640,30,attention\n"), "");
}

/// A row of one token of all operators, 10 us each, of a model whose shape is `shape`.
std::string imported_row(const std::string& model, const std::string& shape, ImportReport& report) {
  const ProfileFolder folder;
  std::string header, times;
  for (const char* name : {"input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "mlp_up_proj", "mlp_act",
                           "mlp_down_proj", "add"})
    header += stats(name), times += "0.01,0.01,0.01,0.01,0,";
  folder.write(
      "compute/a100/" + model + "/mlp.csv",
      header +
          "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n" +
          times + shape + "\n");
  MemorySamples out;
  report = import_profile("vidur", folder.path(), {}, out);
  std::string operations;
  for (const auto& set : out.sets()) operations += test::operation(set.key) + "\n";
  return operations;
}

TEST(Vidur, ItsOwnModelsHaveTheirBiasesAndNorms) {
  ImportReport report;
  const std::string phi = imported_row("microsoft--phi-2", "32,32,2560,10240,51200,False,1,1", report);
  EXPECT_TRUE(report.notes.empty()) << report.text();
  for (const char* operation :
       {"layer_norm float16 2560 bias=true m inductor", "linear float16/float16/float16 2560x7680 bias=true m cublas",
        "linear float16/float16/float16 2560x2560 bias=true m cublas", "gelu float16 10240 m vllm-c",
        "linear float16/float16/float16 2560x10240 bias=true m cublas",
        "linear float16/float16/float16 10240x2560 bias=true m cublas",
        "rope float16 32x32x80 m vllm-c",            // its profiler rotates whole heads
        "add float16 2560 terms=3 m inductor"})      // attention, MLP and the stream
    EXPECT_NE(phi.find(std::string(operation) + "\n"), std::string::npos) << operation << " is none of\n" << phi;

  const std::string qwen = imported_row("Qwen--Qwen-72B", "64,64,8192,24576,152064,True,1,2", report);
  EXPECT_TRUE(report.notes.empty()) << report.text();
  EXPECT_NE(qwen.find("8192x12288 bias=true m cublas\n"), std::string::npos) << qwen;
  EXPECT_NE(qwen.find("4096x8192 m cublas\n"), std::string::npos) << qwen;
  EXPECT_NE(qwen.find("add float16 8192 m inductor\n"), std::string::npos) << qwen;
  for (const char* model : {"codellama--CodeLlama-34b-Instruct-hf", "internlm--internlm-20b"}) {
    const std::string plain = imported_row(model, "64,8,8192,22016,32768,True,1,1", report);
    EXPECT_TRUE(report.notes.empty()) << report.text();
    EXPECT_EQ(plain.find("bias"), std::string::npos) << plain;
  }
}

TEST(Vidur, AttentionOfPrefillChunksAndDecodes) {
  const ProfileFolder folder;
  folder.write("legacy/a100_llama2-70b_tp2_attention.csv",
               stats("attn_input_reshape") + stats("attn_prefill") + stats("attn_decode") +
                   stats("attn_kv_cache_save") +
                   "n_embd,n_q_head,n_kv_head,block_size,num_tensor_parallel_workers,max_model_len,batch_size,prefill_"
                   "chunk_size,kv_cache_size,is_prefill,attention_backend\n"
                   "0,0,0,0,0,2.2,2.4,2.3,2.3,0.1,,,,,,0.004,0.005,0.0045,0.0045,0,8192,64,8,16,2,4096,1,512,1024,True,"
                   "AttentionBackend.FLASH_ATTENTION\n"
                   "0,0,0,0,0,,,,,,0.014,0.015,0.0145,0.015,0,0.003,0.003,0.003,0.003,0,8192,64,8,32,2,4096,4,0,64,"
                   "False,AttentionBackend.FLASHINFER\n");
  MemorySamples out;
  import_profile("vidur", folder.path(), {}, out);
  EXPECT_EQ(out.text,
            "# A100-SXM-80GB vidur \n"
            "attention float16/float16/float16 32x4x128 batch fa2 | 1,512,1024,0,0,0,0 | 2300 n=0\n"
            "kv_write float16/float16 4x128 m vllm-c | 512,0,0,0,0,0,0 | 4.5 n=0\n"
            "attention float16/float16/float16 32x4x128 block_size=32 batch flashinfer | 0,0,0,4,64,0,0 | 15 n=0\n"
            "kv_write float16/float16 4x128 block_size=32 m vllm-c | 4,0,0,0,0,0,0 | 3 n=0\n");
}

TEST(Vidur, CollectivesByTheLinksOfTheirRanks) {
  const ProfileFolder folder;
  folder.write("network/a100_pairwise_nvlink/all_reduce.csv",
               std::string(",") + stats("all_reduce") +
                   "rank,num_workers,size,collective,devices_per_node,max_devices_per_node\n"
                   "0,0.03,0.07,0.05,0.043,0.01,0,2,2048,all_reduce,1,4\n"
                   "1,0.03,0.07,0.05,0.02,0.01,0,4,2048,all_reduce,4,4\n");
  MemorySamples out;
  const ImportReport report = import_profile("vidur", folder.path(), {}, out);
  EXPECT_EQ(out.text,
            "# A100-SXM-80GB vidur 2x1 nvlink + network\n"
            "all_reduce bfloat16 2 bytes nccl | 2048,2,0,0,0,0,0 | 43 n=0\n"
            "all_reduce float16 2 bytes nccl | 2048,2,0,0,0,0,0 | 43 n=0\n"
            "# A100-SXM-80GB vidur pairwise-nvlink\n"
            "all_reduce bfloat16 4 bytes nccl | 2048,4,0,0,0,0,0 | 20 n=0 suspect\n"
            "all_reduce float16 4 bytes nccl | 2048,4,0,0,0,0,0 | 20 n=0 suspect\n");
  EXPECT_EQ(report.findings.at("figures contradict each other").count, 2u);  // minimum above the median, for both types
}

TEST(Vidur, HostTimesByTermAndModel) {
  const ProfileFolder folder;
  folder.write("a100_cpu_overheads.csv",
               ",schedule_mean,schedule_median,ray_comm_time_mean,model_name,batch_size,tensor_parallel_degree\n0,0.2,"
               "0.19,6.2,codellama/CodeLlama-34b,8,2\n");
  MemorySamples out;
  import_profile("vidur", folder.path(), {}, out);
  EXPECT_EQ(out.text,
            "# A100-SXM-80GB vidur \n"
            "host  2 model=codellama/CodeLlama-34b term=schedule batch vllm | 0,0,0,8,0,0,0 | 190 n=0\n"
            "host  2 model=codellama/CodeLlama-34b term=ray_comm_time batch vllm | 0,0,0,8,0,0,0 | 6200 n=0\n");
}

TEST(Vidur, AnotherTypeOnRequest) {
  const ProfileFolder folder;
  folder.write(
      "compute/h100/x/y/mlp.csv",
      stats("add") +
          "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
          "0.003,0.004,0.003,0.003,0,32,32,4096,11008,32768,True,1,8\n");
  MemorySamples out;
  const ImportReport report = import_profile("vidur", folder.path(), {.dtype = "bf16"}, out);
  EXPECT_EQ(out.text, "# H100-SXM vidur \nadd bfloat16 4096 m inductor | 1,0,0,0,0,0,0 | 3 n=0\n");
  EXPECT_EQ(report.notes.at(0).substr(0, 4), "x/y:");
}

}  // namespace
}  // namespace dooly::import_
