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
