#include "dooly_process.hpp"
#include "plan_text.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

TEST(ScaledNumber, HasThreeDigitsAndAPrefix) {
  EXPECT_EQ(scaled(0), "0");
  EXPECT_EQ(scaled(576), "576");
  EXPECT_EQ(scaled(1536), "1.54k");
  EXPECT_EQ(scaled(25165824), "25.2M");
  EXPECT_EQ(scaled(999'600), "1.00M");
  EXPECT_EQ(scaled(603979776), "604M");
}

TEST(Plan, ListsOperatorsCountsBindingsAndSums) {
  const ProcessResult result = dooly({"plan", "meta-llama/Llama-3.1-8B", "--tp", "2"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out.rfind("meta-llama/Llama-3.1-8B: tp 2, pp 1, ep 1; attention fa3, bfloat16, KV cache bfloat16 in "
                             "blocks of 16\n",
                             0),
            0u)
      << result.out;
  EXPECT_NE(result.out.find("linear 4096x3072 bfloat16 cublas\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("rms_norm 4096 bfloat16 vllm-c, residual\n"), std::string::npos);
  EXPECT_NE(result.out.find("8,030,261,248 parameters in 32 layers"), std::string::npos);
  EXPECT_NE(result.out.find("KV cache 65,536 B a token\n"), std::string::npos);
}

TEST(Plan, WritesJsonAndOneFileAStage) {
  const Scratch scratch;
  const std::string file = scratch.name("plan.json");
  ASSERT_EQ(dooly({"plan", "Qwen/Qwen3-8B", "--out", file}).code, 0);
  const auto plan = nlohmann::json::parse(read_file(file));
  EXPECT_EQ(plan["model"], "Qwen/Qwen3-8B");
  EXPECT_EQ(plan["entries"][0]["name"], "embedding");
  EXPECT_EQ(dooly({"plan", "Qwen/Qwen3-8B", "--out", file}).err, file + ": exists already; --force replaces it\n");
  EXPECT_EQ(dooly({"plan", "Qwen/Qwen3-8B", "--out", file, "--force"}).code, 0);
  const ProcessResult stages = dooly({"plan", "Qwen/Qwen3-8B", "--pp", "2", "--out", scratch.name("p.json")});
  EXPECT_EQ(stages.code, 0) << stages.err;
  EXPECT_NE(stages.out.find("stage 1 (layers 18 to 35)"), std::string::npos) << stages.out;
  EXPECT_TRUE(fs::exists(scratch / "p.stage0.json"));
  EXPECT_TRUE(fs::exists(scratch / "p.stage1.json"));
}

TEST(Plan, RefusesWhatTheFilesOfSeveralStagesCannotBeBeforeAnythingIsSaid) {
  const Scratch scratch;
  fs::create_directory(scratch / "d");
  const std::string why = "--out: must be a file's name for each of 2 stages (--stage N writes one), got '";
  for (const auto& [out, message] :
       {std::pair<std::string, std::string>{"/dev/null", why + "/dev/null'"},
        {scratch.name("d"), scratch.name("d") + ": is a directory"},
        {scratch.name("new/"), why + scratch.name("new/") + "'"},
        {"", "dooly plan: --out: needs a value, FILE, got ''; see 'dooly plan --help'"},
        {scratch.name("no/p.json"),
         scratch.name("no/p.stage0.json") + ": cannot be written: No such file or directory"}}) {
    const ProcessResult result = dooly({"plan", "Qwen/Qwen3-8B", "--pp", "2", "--out", out});
    EXPECT_EQ(result.code, 2) << out;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, message + "\n");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
  // of one stage a device will do
  EXPECT_EQ(dooly({"plan", "Qwen/Qwen3-8B", "--pp", "2", "--stage", "1", "--out", "/dev/null"}).code, 0);
}

TEST(Plan, AStageThatIsThereLeavesTheOthersUnwritten) {
  const Scratch scratch;
  scratch.file("p.stage1.json", "mine");
  const ProcessResult result = dooly({"plan", "Qwen/Qwen3-8B", "--pp", "2", "--out", scratch.name("p.json")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, scratch.name("p.stage1.json") + ": exists already; --force replaces it\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
}

oracle::Sample sample_at(std::uint64_t tokens) {
  oracle::Sample sample;
  sample.point = {tokens};
  sample.count = 1;
  sample.median_s = sample.mean_s = sample.min_s = sample.p10_s = sample.p90_s = 1e-5;
  return sample;
}

oracle::Environment some_gpu() {
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  return environment;
}

TEST(Plan, SaysWhatAStoreAnswersAndSavesItselfThere) {
  const Scratch scratch;
  const std::string path = scratch.name("s");
  {
    auto made = store::SignatureStore::open(path, store::SignatureStore::Mode::kCreate);
    const std::string environment = made.put_environment(some_gpu());
    // Measured for whichever model: Qwen3-8B has the same query, key and value projection as Llama-3.1-8B.
    const auto signature = made.put_key(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 4096, 6144));
    made.put_all(environment, signature, {sample_at(1), sample_at(2), sample_at(4)});
    made.close();
  }
  for (const char* model : {"meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B"}) {
    const ProcessResult result = dooly({"plan", model, "--store", path});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("  3        linear 4096x6144 bfloat16 cublas\n"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("the store has samples of 1 of 1"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("none of: act_and_mul, attention, down_proj"), std::string::npos);
  }
  ASSERT_EQ(dooly({"plan", "Qwen/Qwen3-8B", "--tp", "2", "--store", path, "--save", "--quiet"}).code, 0);
  const auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
  const std::string name = "Qwen/Qwen3-8B tp2 pp1 ep1 fa3 bfloat16 kv-bfloat16 stage0";
  EXPECT_EQ(opened.plans(), std::vector<std::string>{name});
  EXPECT_EQ(oracle::parse_plan(opened.plan(name).value()).tensor_parallel, 2u);
}

TEST(Plan, AModuleStandsForItsParts) {
  const Scratch scratch;
  const std::string path = scratch.name("s.jsonl.zst");
  {
    store::PortableSink sink(path);
    sink.environment(some_gpu());
    oracle::MlaWork work{
        .heads = 16, .q_lora_rank = 0, .kv_lora_rank = 512, .qk_nope_dim = 128, .qk_rope_dim = 64, .v_dim = 128};
    oracle::Sample sample = sample_at(0);
    sample.point = {0, 0, 0, 1, 100};
    sink.sample(oracle::mla_module_key("bfloat16", "bfloat16", "bfloat16", 2048, work, "fa3-mla"), sample);
    sink.finish();
  }
  const ProcessResult result = dooly({"plan", "deepseek-ai/DeepSeek-V2-Lite", "--store", path});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("in mla_module"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("10 of them as part of a module"), std::string::npos) << result.out;
}

TEST(Plan, RefusesByName) {
  const auto message = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "plan");
    const ProcessResult result = dooly(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(message({"Qwen/Qwen3-8B", "--tp", "two"}), "--tp: must be a whole number of at least 1, got 'two'\n");
  EXPECT_NE(message({"Qwen/Qwen3-8B", "--tp", "3"}).find("tensor parallel size 3 does not divide"), std::string::npos);
  EXPECT_NE(message({"Qwen/Qwen3-8B", "--stage", "4294967295"}).find("there is no pipeline stage 4294967295 of 1"),
            std::string::npos);
  EXPECT_NE(message({"Qwen/Qwen3-9B"}).find("Qwen/Qwen3-8B"), std::string::npos);
  EXPECT_NE(message({"Qwen/Qwen3-8B", "--backend", "fa9"}).find("known: fa2, fa3"), std::string::npos);
  EXPECT_NE(message({"Qwen/Qwen3-8B", "--save"}).find("--save: needs --store"), std::string::npos);
  EXPECT_NE(message({"Qwen/Qwen3-8B", "--store", "/no/such/store"}).find("/no/such/store"), std::string::npos);
}

}  // namespace
}  // namespace dooly::cli
