// Whatever bytes a profile holds: an import, or an ImportError.
#include "profile_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

namespace dooly::import_ {
namespace {

struct Seed {
  const char* format;
  const char* file;
  const char* text;
};

constexpr std::array kSeeds{
    Seed{"aiconfigurator", "gemm_perf.csv",
         "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\nVLLM,0.24.0,NVIDIA "
         "H200,gemm,t,bfloat16,16,6144,4096,0.014\n"},
    Seed{"aiconfigurator", "moe_perf.csv",
         "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
         "moe_tp_size,moe_ep_size,distribution,latency\n"
         "VLLM,0.24.0,NVIDIA H200,moe,triton,bfloat16,8,2048,768,8,128,2,1,balanced,0.1\n"},
    Seed{"aiconfigurator", "nccl_perf.csv",
         "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\nTRTLLM,2.29.2,"
         "NVIDIA H200,all_gather,NCCL,half,4,4096,0.006\n"},
    Seed{"llmservingsim", "RTX4090/meta-llama--Llama-3.1-8B/bf16/tp1/attention.csv",
         "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n64,0,4,128,40\n"},
    Seed{"llmservingsim", "RTX4090/meta-llama--Llama-3.1-8B/bf16/tp1/skew.csv",
         "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha\npure,2,1,0.5,4.0,0,0,128,"
         "512,320,60,90,66,0.2\n"},
    Seed{"vidur", "compute/a100/x--y/mlp.csv",
         "time_stats.emb.median,time_stats.mlp_act.median,n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_"
         "mlp,num_tokens,num_tensor_parallel_workers\n"
         "0.003,0.002,32,8,4096,11008,32768,True,1,8\n"},
    Seed{"vidur", "network/a100_dgx/all_reduce.csv",
         ",time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node\n0,0.043,0,2,2048,all_reduce,"
         "1\n"},
    Seed{"infersim", "gemm/h800/data.csv", "m,k,n,latency_us,mfu\n16,7168,1536,16.443,0.010827\n"},
    Seed{"splitwise", "perf_model.csv",
         "model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,token_time,e2e_time,"
         "tensor_parallel\nllama2-70b,h100-80gb,512,2,128,1,0.7,100,30,3910,4\n"},
    Seed{"nccl-tests", "all_reduce.txt",
         "#  Rank  0 Group 0 Pid 1 on h device 0 [0x18] NVIDIA H200\n#  Rank  1 Group 0 Pid 1 on h device 1 [0x2a] "
         "NVIDIA H200\n# size count type redop root time algbw busbw #wrong\n"
         "256 64 float sum -1 6.50 0.04 0.04 0 6.40 0.04 0.04 0\n"},
};

std::string damaged(std::string text, std::mt19937_64& random) {
  const std::array<std::string_view, 14> words{"-1", "0",  "nan", "1e400", "18446744073709551615", "1e19",   "\"",
                                               ",",  "\n", "\r",  "\xff",  "9999999999",           "1e-320", "False"};
  for (auto edits = random() % 4 + 1; edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, random() % 6 + 1); break;
      case 2: text.insert(at, words[random() % words.size()]); break;
      default: {  // a whole cell
        const auto end = text.find_first_of(",\n", at);
        if (end != std::string::npos) text.replace(at, end - at, words[random() % words.size()]);
      }
    }
  }
  return text;
}

TEST(DamagedProfile, IsImportedOrRefused) {
  const test::ProfileFolder folder;
  std::mt19937_64 random(20);
  std::uint64_t refused = 0, taken = 0;
  for (const Seed& seed : kSeeds) {
    const auto path = folder.write(seed.file, seed.text);
    for (int round = 0; round < 400; ++round) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged(seed.text, random);
      test::MemorySamples out;
      try {
        import_profile(seed.format, path, {}, out);
        ++taken;
        for (const auto& set : out.sets())
          for (const oracle::Sample& sample : set.samples) ASSERT_GT(sample.median_s, 0) << seed.file;
      } catch (const ImportError&) {
        ++refused;
      }
    }
    std::filesystem::remove(path);
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(taken, 100u);
}

}  // namespace
}  // namespace dooly::import_
