// Hand-made tables of every format and what has to come of them, line by line.
#include "profile_folder.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::import_ {
namespace {

using test::MemorySamples;
using test::ProfileFolder;

std::string imported(const std::string& format, const std::filesystem::path& path, const ImportOptions& options = {},
                     ImportReport* report = nullptr) {
  MemorySamples out;
  const ImportReport made = import_profile(format, path, options, out);
  if (report != nullptr) *report = made;
  return out.text;
}

TEST(AIConfigurator, GemmIsALinearOverRows) {
  const ProfileFolder folder;
  const auto path = folder.write("gemm_perf.csv", R"(
framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
VLLM,0.24.0,NVIDIA H200,gemm,torch.nn.functional.linear,bfloat16,16,6144,4096,0.014
VLLM,0.24.0,NVIDIA H200,gemm,torch.nn.functional.linear,bfloat16,1,6144,4096,0.0125
VLLM,0.24.0,NVIDIA H200,gemm,CutlassFP8,fp8,1,6144,4096,0.009
VLLM,0.24.0,NVIDIA H200,gemm,DeepGemm,fp8_block,1,6144,4096,0.0095
VLLM,0.24.0,NVIDIA H200,gemm,torch.nn.functional.linear,bfloat16,32,6144,4096,oops
)");
  ImportReport report;
  EXPECT_EQ(imported("aiconfigurator", path, {}, &report),
            "# H200-SXM aiconfigurator \n"
            "linear bfloat16/bfloat16/bfloat16 4096x6144 m cublas | 1,0,0,0,0,0,0 | 12.5 n=1\n"
            "linear bfloat16/bfloat16/bfloat16 4096x6144 m cublas | 16,0,0,0,0,0,0 | 14 n=1\n"
            "linear bfloat16/fp8/bfloat16 4096x6144 m cutlass | 1,0,0,0,0,0,0 | 9 n=1\n"
            "linear bfloat16/fp8_block/bfloat16 4096x6144 m vllm-fp8-block | 1,0,0,0,0,0,0 | 9.5 n=1\n");
  EXPECT_EQ(report.rows, 5u);
  EXPECT_EQ(report.signatures, 3u);
  EXPECT_EQ(report.findings.at("not a number").examples.at(0), "gemm_perf.csv:6: oops");
}

TEST(AIConfigurator, AttentionOfPromptsAndGenerations) {
  const ProfileFolder folder;
  const std::string header =
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,"
      "attn_dtype,kv_cache_dtype,step,window_size,latency\n";
  folder.write("context_attention_perf.csv",
               header + "VLLM,0.24.0,NVIDIA H200,x,vllm_flash_attn_fa3,4,1024,32,8,128,1,bfloat16,fp8,0,128,0.5\n");
  folder.write("generation_attention_perf.csv",
               header + "VLLM,0.24.0,NVIDIA H200,x,vllm_flash_attn_fa3,32,1,32,8,128,1,bfloat16,bfloat16,511,0,0.02\n");
  EXPECT_EQ(imported("aiconfigurator", folder.path()),
            "# H200-SXM aiconfigurator \n"
            "attention bfloat16/fp8/bfloat16 32x8x128 window=128 batch fa3 | 4,1024,0,0,0,0,0 | 500 n=1\n"
            "attention bfloat16/bfloat16/bfloat16 32x8x128 batch fa3 | 0,0,0,32,511,0,0 | 20 n=1\n");
}

TEST(AIConfigurator, ExpertsSplitByTensorsAndByExperts) {
  const ProfileFolder folder;
  const auto path = folder.write("moe_perf.csv", R"(
framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency
VLLM,0.24.0,NVIDIA H200,moe,triton,bfloat16,8,2048,768,8,128,2,1,balanced,0.1
VLLM,0.24.0,NVIDIA H200,moe,triton,fp8_block,8,2048,768,8,128,1,4,power_law_1.2,0.05
VLLM,0.24.0,NVIDIA H200,moe,triton,bfloat16,8,2048,768,8,128,5,1,balanced,0.1
)");
  EXPECT_EQ(imported("aiconfigurator", path),
            "# H200-SXM aiconfigurator \n"
            "moe_experts bfloat16/bfloat16 2048x384x128x8 m triton-fused-moe | 8,0,0,0,0,0,0 | 100 n=1\n"
            "moe_experts bfloat16/fp8_block 2048x768x32x8 experts=128 m vllm-fp8-block-moe | 8,0,2,0,0,0,0 | 50 n=1\n");
}

TEST(AIConfigurator, MessagesAreElementsOfBothSixteenBitTypes) {
  const ProfileFolder folder;
  folder.write("custom_allreduce_perf.csv", R"(
framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency,backend
vLLM,0.24.0,NVIDIA H200,all_reduce,vLLM_custom_graph,bfloat16,2,128,0.0044,vllm_graph
vLLM,0.24.0,NVIDIA H200,all_reduce,vLLM_custom_eager,bfloat16,2,128,0.0208,vllm_eager
)");
  folder.write("nccl_perf.csv", R"(
framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency
TRTLLM,2.29.2,NVIDIA H200,all_gather,NCCL,half,4,4096,0.006
TRTLLM,2.29.2,NVIDIA H200,alltoall,NCCL,int8,4,4096,0.007
)");
  EXPECT_EQ(imported("aiconfigurator", folder.path()),
            "# H200-SXM aiconfigurator nvlink\n"
            "all_reduce bfloat16 2 bytes vllm-custom | 256,2,0,0,0,0,0 | 4.4 n=1\n"
            "all_reduce float16 2 bytes vllm-custom | 256,2,0,0,0,0,0 | 4.4 n=1\n"
            "all_reduce bfloat16 2 eager=true bytes vllm-custom | 256,2,0,0,0,0,0 | 20.8 n=1\n"
            "all_reduce float16 2 eager=true bytes vllm-custom | 256,2,0,0,0,0,0 | 20.8 n=1\n"
            "# H200-SXM aiconfigurator nvlink\n"
            "all_gather bfloat16 4 bytes nccl | 2048,4,0,0,0,0,0 | 6 n=1\n"
            "all_gather float16 4 bytes nccl | 2048,4,0,0,0,0,0 | 6 n=1\n"
            "all_to_all int8 4 bytes nccl | 4096,4,0,0,0,0,0 | 7 n=1\n");
}

TEST(AIConfigurator, LatentAttentionAsAModuleAsAnOperatorAndItsProducts) {
  const ProfileFolder folder;
  folder.write("mla_generation_module_perf.csv", R"(
framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,latency
VLLM,0.24.0,NVIDIA H200,x,FLASHMLA,deepseek-ai/DeepSeek-V3,D,bfloat16,fp8,fp8_block,16,4,1,1,64,0.1637
)");
  folder.write("mla_bmm_perf.csv", R"(
framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency
VLLM,0.24.0,NVIDIA H200,mla_gen_pre,vllm_torch_bmm,bfloat16,2,16,0.006
VLLM,0.24.0,NVIDIA H200,mla_gen_post,vllm_torch_bmm,bfloat16,2,16,0.005
)");
  EXPECT_EQ(
      imported("aiconfigurator", folder.path()),
      "# H200-SXM aiconfigurator \n"
      "bmm bfloat16/bfloat16/bfloat16 16x128x512 m cublas | 2,0,0,0,0,0,0 | 6 n=1\n"
      "bmm bfloat16/bfloat16/bfloat16 16x512x128 m cublas | 2,0,0,0,0,0,0 | 5 n=1\n"
      "mla_module bfloat16/fp8_block/fp8 7168x16x1536x512x128x64x128 batch flashmla | 0,0,0,4,64,0,0 | 163.7 n=1\n");
}

std::string llmservingsim_folder(const ProfileFolder& folder, const std::string& model = "meta-llama--Llama-3.1-8B",
                                 const std::string& tp = "tp2") {
  const std::string at = "RTXPRO6000/" + model + "/bf16/";
  folder.write(at + "meta.yaml", R"(
vllm_version: 0.19.0
cuda_version: '13.0'
gpu: NVIDIA RTX PRO 6000 Blackwell Server Edition
engine_effective:
  block_size: 16
  model: /tmp/scratch
measurement_iterations: 3
)");
  return at + tp + "/";
}

TEST(LLMServingSim, LayersAreOperatorsOfTheModelSplitOverItsGpus) {
  const ProfileFolder folder;
  const std::string at = llmservingsim_folder(folder);
  folder.write(at + "dense.csv",
               "layer,tokens,time_us\nqkv_proj,1,20\nlayernorm,1,2.4\nfinal_layernorm,1,2.6\ngate_up_proj,1,70\nact_fn,"
               "1,2\nmystery,1,2\nembedding,1,1.5\n");
  folder.write(at + "per_sequence.csv", "layer,sequences,time_us\nlm_head,4,400\nsampler,4,30\n");
  ImportReport report;
  EXPECT_EQ(imported("llmservingsim", folder.path(), {}, &report),
            "# RTX-PRO-6000 llmservingsim \n"
            "linear bfloat16/bfloat16/bfloat16 4096x3072 m cublas | 1,0,0,0,0,0,0 | 20 n=3\n"
            "rms_norm bfloat16 4096 residual=true m vllm-c | 1,0,0,0,0,0,0 | 2.5 n=6\n"
            "linear bfloat16/bfloat16/bfloat16 4096x14336 m cublas | 1,0,0,0,0,0,0 | 70 n=3\n"
            "silu_and_mul bfloat16 7168 m vllm-c | 1,0,0,0,0,0,0 | 2 n=3\n"
            "embedding bfloat16 64128x4096 m torch | 1,0,0,0,0,0,0 | 1.5 n=3\n"
            "linear bfloat16/bfloat16/bfloat16 4096x64128 m cublas | 4,0,0,0,0,0,0 | 400 n=3\n"
            "sample bfloat16 128256 m torch | 4,0,0,0,0,0,0 | 30 n=3\n");
  EXPECT_EQ(report.findings.at("a layer that the model does not have").count, 1u);
  EXPECT_EQ(report.environments.at(0).find("\"cuda\":\"13\""), 1u);
}

TEST(LLMServingSim, EverySignatureIsOneThatThePlanAsksFor) {
  const ProfileFolder folder;
  const std::string at = llmservingsim_folder(folder, "Qwen--Qwen3-30B-A3B", "tp1");
  folder.write(
      at + "dense.csv",
      "layer,tokens,time_us\nembedding,1,1\nlayernorm,1,1\nqkv_proj,1,1\nqk_norm,1,1\nrotary_emb,1,1\no_proj,1,1\n");
  folder.write(at + "per_sequence.csv", "layer,sequences,time_us\nlm_head,1,1\nsampler,1,1\n");
  folder.write(at + "attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n16,0,0,0,9\n");
  folder.write(at + "moe.csv", "tokens,activated_experts,time_us\n1,8,50\n");
  MemorySamples out;
  import_profile("llmservingsim", folder.path(), {}, out);
  const auto plan = oracle::make_plan(oracle::find_model("Qwen/Qwen3-30B-A3B"), {.backend = "fa2"});
  EXPECT_EQ(out.by_signature.size(), 10u);
  for (const auto& [signature, known] : out.by_signature) {
    const bool asked = std::any_of(plan.entries.begin(), plan.entries.end(),
                                   [&, s = signature](const auto& entry) { return entry.signature == s; });
    EXPECT_TRUE(asked) << test::operation(known.first);
  }
}

TEST(LLMServingSim, RowsThatItsProfilerCopiesFromOneGpuAreThatGpus) {
  const ProfileFolder folder;
  for (const char* tp : {"tp1", "tp2"}) {
    const std::string at = llmservingsim_folder(folder, "Qwen--Qwen3-32B", tp);
    folder.write(at + "dense.csv", "layer,tokens,time_us\nqk_norm,1,2\n");
    folder.write(at + "per_sequence.csv", "layer,sequences,time_us\nsampler,4,30\n");
  }
  ImportReport report;
  EXPECT_EQ(imported("llmservingsim", folder.path(), {}, &report),
            "# RTX-PRO-6000 llmservingsim \n"
            "qk_norm bfloat16 64x8x128 m inductor | 1,0,0,0,0,0,0 | 2 n=3\n"
            "sample bfloat16 151936 m torch | 4,0,0,0,0,0,0 | 30 n=3\n");
  EXPECT_EQ(report.findings.at("figures repeated at one point (one kept)").count, 2u);
}

TEST(LLMServingSim, AttentionGridAndSkewedBatches) {
  const ProfileFolder folder;
  const std::string at = llmservingsim_folder(folder);
  folder.write(at + "attention.csv",
               "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,2,320,20\n0,0,2,512,30\n256,1024,0,0,90\n64,0,"
               "4,128,40\n0,0,0,0,1\n");
  // The profiler writes sums over its three repetitions here.
  folder.write(at + "skew.csv",
               "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha\npure,2,1,0.5,4.0,0,"
               "0,128,512,320,60,90,66,0.2\n");
  ImportReport report;
  const std::string key = "attention bfloat16/bfloat16/bfloat16 16x4x128 batch fa2";
  EXPECT_EQ(imported("llmservingsim", folder.path(), {}, &report),
            "# RTX-PRO-6000 llmservingsim \n" + key + " | 0,0,0,2,128,1,512 | 22 n=3\n" + key +
                " | 0,0,0,2,320,0,0 | 20 n=3\n" + key + " | 0,0,0,2,512,0,0 | 30 n=3\n" + key +
                " | 1,64,0,4,128,0,0 | 40 n=3\n" + key + " | 1,256,1024,0,0,0,0 | 90 n=3\n");
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find("sums over 3 repetitions") != std::string::npos;
  }));
  EXPECT_EQ(report.findings.at("an empty batch").count, 1u);
}

TEST(LLMServingSim, OperatorsOfDifferentModelsShareTheirSignatures) {
  const ProfileFolder folder;
  for (const char* model : {"Qwen--Qwen3-32B", "Qwen--Qwen3-30B-A3B"}) {
    const bool dense = std::string(model).ends_with("32B");
    folder.write(llmservingsim_folder(folder, model, dense ? "tp2" : "tp1") + "dense.csv",
                 "layer,tokens,time_us\nrotary_emb,1,2\nlayernorm,1,3\n");
  }
  ImportReport report;
  imported("llmservingsim", folder.path(), {}, &report);
  ASSERT_EQ(report.shared.size(), 1u);
  EXPECT_EQ(report.shared[0].operation, "rope bfloat16 32x4x128 (vllm-c)");
  EXPECT_EQ(report.shared[0].models.size(), 2u);
  EXPECT_NE(report.text().find("Operators that several models share: 1"), std::string::npos);
}

TEST(LLMServingSimV0, LayersInNanosecondsAndAttentionInVidursLayout) {
  const ProfileFolder folder;
  const std::string at = "H100/meta-llama--Llama-3.1-8B/tp1/";
  folder.write(at + "layers.csv",
               "layer_name,input,kv_cache,tp_size,latency(ns)\nq_proj,1,0,1,10706\ninput_layernorm,1,0,1,17511\nact_fn,"
               "1,0,1,4000\nattn,32,0,1,5545\n");
  folder.write(at + "attention.csv", R"(
time_stats.attn_prefill.median,time_stats.attn_decode.median,n_embd,n_q_head,n_kv_head,num_tensor_parallel_workers,max_model_len,batch_size,prefill_chunk_size,kv_cache_size,is_prefill,attention_backend
0.005312,,4096,32,8,1,131072,1,32,64,True,FLASH_ATTENTION
,0.2114,4096,32,8,1,131072,14,0,6553,False,FLASH_ATTENTION
)");
  EXPECT_EQ(imported("llmservingsim-v0", folder.path()),
            "# H100-SXM llmservingsim-v0 \n"
            "attention bfloat16/bfloat16/bfloat16 32x8x128 batch fa3 | 0,0,0,14,6553,0,0 | 211.4 n=0\n"
            "attention bfloat16/bfloat16/bfloat16 32x8x128 batch fa3 | 1,32,0,0,0,0,0 | 5.545 n=0\n"
            "attention bfloat16/bfloat16/bfloat16 32x8x128 batch fa3 | 1,32,64,0,0,0,0 | 5.312 n=0\n"
            "linear bfloat16/bfloat16/bfloat16 4096x4096 m cublas | 1,0,0,0,0,0,0 | 10.706 n=0\n"
            "rms_norm bfloat16 4096 m torch | 1,0,0,0,0,0,0 | 17.511 n=0\n"
            "silu bfloat16 14336 m torch | 1,0,0,0,0,0,0 | 4 n=0\n");
}

TEST(Frontier, ExpertTablesAndMeasuringMethodsApart) {
  const ProfileFolder folder;
  folder.write("a100/some_moe/moe.csv", R"(
time_stats.moe_gating_linear.median,time_stats.moe_gating_routing_topk.median,time_stats.moe_shuffling.median,time_stats.moe_grouped_gemm.median,num_tokens,num_experts,num_experts_per_device,expert_parallel_size,router_topk,hidden_dim,expert_hidden_dim,use_gated,num_tensor_parallel_workers,load_distribution,profiling_precision,measurement_type
0.018,0.02,0.019,0.112,4,128,128,1,8,2048,768,True,2,uniform,BF16,CUDA_EVENT
0.018,0.02,0.019,0.112,4,128,128,1,8,2048,768,True,2,skewed,BF16,CUDA_EVENT
,,,0.1,8,128,128,1,8,2048,768,True,2,uniform,BF16,KERNEL_ONLY
)");
  ImportReport report;
  EXPECT_EQ(imported("frontier", folder.path(), {}, &report),
            "# A100-SXM-80GB frontier CUDA_EVENT \n"
            "linear bfloat16/bfloat16/bfloat16 2048x128 m cublas | 4,0,0,0,0,0,0 | 18 n=0\n"
            "topk_softmax bfloat16 128x8 m vllm-c | 4,0,0,0,0,0,0 | 20 n=0\n"
            "moe_shuffling bfloat16 2048x384x128x8 m frontier | 4,0,0,0,0,0,0 | 19 n=0\n"
            "moe_experts bfloat16/bfloat16 2048x384x128x8 m grouped-gemm | 4,0,0,0,0,0,0 | 112 n=0\n"
            "# A100-SXM-80GB frontier KERNEL_ONLY \n"
            "moe_experts bfloat16/bfloat16 2048x384x128x8 m grouped-gemm | 8,0,0,0,0,0,0 | 100 n=0\n");
  EXPECT_EQ(report.findings.at("routing that a point cannot hold").count, 1u);
}

TEST(Splitwise, WholeIterationsWithTheirRepeats) {
  const ProfileFolder folder;
  const auto path = folder.write("perf_model.csv", R"(
model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,token_time,e2e_time,tensor_parallel
llama2-70b,h100-80gb-pcap,512,2,128,1.0,0.7,100,30,3910,4
llama2-70b,h100-80gb-pcap,512,2,128,1.0,0.7,102,30,9000,4
)");
  ImportReport report;
  EXPECT_EQ(imported("splitwise", path, {}, &report),
            "# H100-SXM splitwise, power capped \n"
            "iteration float16 4 model=llama2-70b phase=prompt batch vllm | 2,512,0,0,0,0,0 | 101000 n=2\n"
            "iteration float16 4 model=llama2-70b phase=token batch vllm | 0,0,0,2,576,0,0 | 30000 n=1\n");
  EXPECT_EQ(report.findings.at("prompt and token times do not add up to e2e_time").count, 1u);
}

TEST(Apex, SizesInKibibytes) {
  const ProfileFolder folder;
  const auto path = folder.write("comm/all_gather.csv",
                                 "gpu,num_nodes,num_gpus_per_node,dtype,size(kb),time(us)\nH200,1,4,half,0,7.0\nH200,1,"
                                 "4,half,16,9.0\nH200,2,8,half,16,20\n");
  ImportReport report;
  EXPECT_EQ(imported("apex", path, {}, &report),
            "# H200-SXM apex nvlink\n"
            "all_gather bfloat16 4 bytes nccl | 4096,4,0,0,0,0,0 | 9 n=0\n"
            "all_gather float16 4 bytes nccl | 4096,4,0,0,0,0,0 | 9 n=0\n"
            "# H200-SXM apex 2x8 nvlink + network\n"
            "all_gather bfloat16 16 bytes nccl | 1024,16,0,0,0,0,0 | 20 n=0\n"
            "all_gather float16 16 bytes nccl | 1024,16,0,0,0,0,0 | 20 n=0\n");
  EXPECT_EQ(report.findings.at("a message of no bytes").count, 1u);
}

TEST(InferSim, TypesOfProductsFromMfuAndShapesFromNames) {
  const ProfileFolder folder;
  folder.write("gemm/h800/data.csv",
               "m,k,n,latency_us,mfu\n16,7168,1536,16.443,0.010827\n16,7168,1536,16.443,0.021664\n");
  folder.write("mha/decode/h800/32-8-128.csv",
               "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,fp8,16,1024,30,0.1\n");
  folder.write("mha/prefill/h800/32-8-128.csv", "dtype,seq_len,latency_us,mfu\nbf16,1024,60,0.5\n");
  EXPECT_EQ(imported("infersim", folder.path()),
            "# H800-SXM infersim \n"
            "linear bfloat16/fp8_block/bfloat16 7168x1536 m vllm-fp8-block | 16,0,0,0,0,0,0 | 16.443 n=0\n"
            "linear bfloat16/bfloat16/bfloat16 7168x1536 m cublas | 16,0,0,0,0,0,0 | 16.443 n=0\n"
            "attention bfloat16/fp8/bfloat16 32x8x128 batch fa3 | 0,0,0,16,1023,0,0 | 30 n=0\n"
            "attention bfloat16/bfloat16/bfloat16 32x8x128 batch fa3 | 1,1024,0,0,0,0,0 | 60 n=0\n");
}

TEST(NcclTests, PrintedOutput) {
  const ProfileFolder folder;
  const auto path = folder.write("all_reduce.txt", R"(
# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid   4711 on   node7 device  0 [0x18] NVIDIA H200
#  Rank  1 Group  0 Pid   4711 on   node7 device  1 [0x2a] NVIDIA H200
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     5.10    0.00    0.00      0     5.00    0.00    0.00      0
         256            64     float     sum      -1     6.50    0.04    0.04      0     6.40    0.04    0.04      0
# Out of bounds values : 0 OK
)");
  ImportReport report;
  EXPECT_EQ(imported("nccl-tests", path, {}, &report),
            "# H200-SXM nccl-tests nvlink\n"
            "all_reduce float32 2 bytes nccl | 256,2,0,0,0,0,0 | 6.5 n=0\n");
  EXPECT_EQ(report.findings.at("a message of no bytes").count, 1u);
}

}  // namespace
}  // namespace dooly::import_
