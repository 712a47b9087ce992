#include "environments.hpp"
#include "profile_folder.hpp"

#include <gtest/gtest.h>

namespace dooly::import_ {
namespace {

std::string failure(const std::string& format, const std::filesystem::path& path, const ImportOptions& options = {}) {
  test::MemorySamples out;
  try {
    import_profile(format, path, options, out);
  } catch (const ImportError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportProfile, AnUnknownFormatListsTheKnownOnes) {
  EXPECT_EQ(
      failure("vidurr", "/"),
      "unknown profile format 'vidurr'; known: aiconfigurator, apex, dooly-sqlite, frontier, infersim, llmservingsim, "
      "llmservingsim-v0, nccl-tests, splitwise, vidur");
  EXPECT_EQ(import_formats().size(), 10u);
}

using Formats = std::vector<std::string_view>;

TEST(PossibleFormats, AreTakenFromTheContentAlone) {
  const test::ProfileFolder folder;
  const auto of = [&](const std::string& text) { return possible_formats(folder.write("any.csv", text)); };
  EXPECT_EQ(of("gpu,num_nodes,num_gpus_per_node,dtype,size(kb),time(us)\n"), Formats{"apex"});
  EXPECT_EQ(of("dtype,seq_len,latency_us,mfu\n"), Formats{"infersim"});
  EXPECT_EQ(of("\xef\xbb\xbflayer,tokens,time_us\r\n"), Formats{"llmservingsim"});
  EXPECT_EQ(of("layer_name,input,kv_cache,tp_size,latency(ns)\n"), Formats{"llmservingsim-v0"});
  EXPECT_EQ(of("model,hardware,prompt_size,batch_size,token_size,prompt_time\n"), Formats{"splitwise"});
  EXPECT_EQ(of(",time_stats.all_reduce.median,rank,num_workers,size\n"), Formats{"vidur"});
  EXPECT_EQ(of("time_stats.emb.median,n_embd\n"), (Formats{"frontier", "vidur"})) << "both have such tables";
  EXPECT_EQ(of("#  size count type redop root time algbw busbw #wrong\n"), Formats{"nccl-tests"});
  EXPECT_EQ(of(std::string("SQLite format 3\0rest", 20)), Formats{"dooly-sqlite"});
  for (const char* nothing : {"", "\n", "time_us,tokens\n", "{\"layer,tokens,time_us\"}"})
    EXPECT_EQ(of(nothing), Formats{});
}

TEST(PossibleFormats, OfAFolderAreThoseOfAllItsTables) {
  const test::ProfileFolder folder;
  folder.write("a100/mlp.csv", "time_stats.emb.median,n_embd\n");
  folder.write("a100/notes.txt", "measured on a Monday\n");
  EXPECT_EQ(possible_formats(folder.path()), (Formats{"frontier", "vidur"}));
  folder.write("network/all_reduce.csv", "time_stats.all_reduce.median,num_workers,size\n");
  EXPECT_EQ(possible_formats(folder.path()), Formats{"vidur"});
  folder.write("more/gemm.csv", "m,k,n,latency_us,mfu\n");
  EXPECT_EQ(possible_formats(folder.path()), Formats{});
  folder.write("more/mlp.csv", "time_stats.emb.median,n_embd\n");
  EXPECT_EQ(possible_formats(folder.path()), Formats{}) << "once there is none, there is none";
}

TEST(ImportProfile, NeedsAGpuFromSomewhere) {
  const test::ProfileFolder folder;
  const auto path = folder.write("some/model/attention.csv", "n_embd,n_q_head\n1,1\n");
  EXPECT_NE(failure("vidur", path).find("say it with --gpu NAME"), std::string::npos);
}

TEST(ImportProfile, NamesAMissingPathAndAFolderWithoutFilesOfTheFormat) {
  const test::ProfileFolder folder;
  EXPECT_NE(failure("vidur", folder.path() / "none").find("no such file or folder"), std::string::npos);
  folder.write("readme.csv", "a\n1\n");
  const std::string why = failure("vidur", folder.path());
  EXPECT_NE(why.find("no file of format vidur (mlp.csv"), std::string::npos) << why;
  EXPECT_NE(why.find("readme.csv: not one of the tables"), std::string::npos) << why;
}

TEST(ImportProfile, AskedValuesWinOverThoseOfTheFile) {
  const test::ProfileFolder folder;
  const auto path = folder.write("gemm_perf.csv", R"(
framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
VLLM,0.24.0,NVIDIA H200,gemm,torch,bfloat16,1,4096,4096,0.01
)");
  test::MemorySamples out;
  import_profile("aiconfigurator", path, {.gpu = "h100", .engine = "vllm=0.26.0", .driver = "570.1", .cuda = "12"},
                 out);
  ASSERT_EQ(out.environments.size(), 1u);
  const oracle::Environment& environment = out.environments[0];
  EXPECT_EQ(environment.gpu, "H100-SXM");
  EXPECT_EQ(environment.multiprocessors, 132u);
  EXPECT_EQ(environment.libraries.at("vllm"), "0.26.0");
  EXPECT_EQ(environment.driver, "570.1");
  EXPECT_EQ(environment.cuda, "12");
  EXPECT_NE(failure("aiconfigurator", path, {.engine = "vllm"}).find("NAME=VERSION"), std::string::npos);
}

TEST(ImportProfile, ARowWithAnUnknownNumberFormatIsCountedAsRefused) {
  const test::ProfileFolder folder;
  const auto path = folder.write("gemm_perf.csv", R"(
framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
VLLM,0.24.0,NVIDIA H200,gemm,torch,nonsense,1,4096,4096,0.01
VLLM,0.24.0,NVIDIA H200,gemm,torch,bf16,1,4096,4096,0.01
)");
  test::MemorySamples out;
  const ImportReport report = import_profile("aiconfigurator", path, {}, out);
  EXPECT_EQ(out.count, 1u);
  EXPECT_EQ(report.rows, 2u);
  EXPECT_EQ(report.findings.at("unknown number format").examples.at(0), "gemm_perf.csv:2: nonsense");
  EXPECT_NE(report.text().find("unknown number format"), std::string::npos) << report.text();
}

TEST(ImportProfile, AnOptionsNumberFormatMustBeKnown) {
  EXPECT_EQ(failure("vidur", "/", {.dtype = "bf61"}),
            "--dtype: unknown number format 'bf61'; allowed: bfloat16, float16, float32, fp8, fp8_block, int8, int4, "
            "mxfp4");
  EXPECT_NE(failure("vidur", "/", {.kv_dtype = "fp9"}).find("--kv-dtype: unknown number format 'fp9'"),
            std::string::npos);
}

TEST(ImportProfile, ADeviceIsNoTable) {
  EXPECT_NE(failure("aiconfigurator", "/dev/zero").find("/dev/zero"), std::string::npos);
}

TEST(GpuName, KnowsWhatDriversAndFoldersSay) {
  EXPECT_EQ(gpu_name("NVIDIA H100 80GB HBM3"), "H100-SXM");
  EXPECT_EQ(gpu_name("NVIDIA A100-SXM4-80GB"), "A100-SXM-80GB");
  EXPECT_EQ(gpu_name("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "RTX-PRO-6000");
  EXPECT_EQ(gpu_name("RTXPRO6000"), "RTX-PRO-6000");
  EXPECT_EQ(gpu_name("H200-SXM-141GB"), "H200-SXM");
  EXPECT_EQ(gpu_name("a800"), "A800-SXM-80GB");
  EXPECT_EQ(gpu_name("a30"), "A30");
  EXPECT_EQ(gpu_name("TPU-v6e-1"), "TPU-v6e-1");
}

}  // namespace
}  // namespace dooly::import_
