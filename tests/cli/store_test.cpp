#include "dooly_process.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_store/links.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace dooly::cli {
namespace {

oracle::OperatorKey linear(std::uint64_t k) {
  oracle::OperatorKey key;
  key.kind = "linear";
  key.dtypes = {"bfloat16", "bfloat16", "bfloat16"};
  key.dims = {k, 4096};
  key.request_dims = {"m"};
  key.family = "cublas";
  return key;
}

/// A portable file with samples of two operators, at `tokens` tokens with `median_s`.
void write(const std::string& path, const std::vector<std::pair<std::uint64_t, double>>& points) {
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  store::PortableSink sink(path);
  sink.environment(environment);
  for (const std::uint64_t k : {1024u, 2048u})
    for (const auto& [tokens, median_s] : points) {
      oracle::Sample sample;
      sample.point = {tokens};
      sample.median_s = median_s;
      sink.sample(linear(k), sample);
    }
  sink.finish();
}

class StoreVerb : public testing::Test {
 protected:
  Scratch scratch_;
  std::string store_ = scratch_.name("store"), file_ = scratch_.name("a.jsonl.zst");
  void SetUp() override { write(file_, {{8, 1e-5}, {64, 2e-5}}); }
  ProcessResult verb(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "store");
    return dooly(arguments);
  }
};

TEST_F(StoreVerb, ShowsHowWellTheSamplesPredictEachOther) {
  const std::string exact = scratch_.name("exact.jsonl.zst");
  std::vector<std::pair<std::uint64_t, double>> line;
  for (std::uint64_t tokens = 64; tokens <= 8192; tokens += 64) line.emplace_back(tokens, 1e-6 * double(tokens));
  write(exact, line);
  const std::string operators = oracle::signature_of(linear(1024)).hex();
  const ProcessResult shown = verb({"show", exact, operators});
  const std::string line_start = "fit: 128 points, ";
  const std::size_t at = shown.out.find(line_start);
  ASSERT_NE(at, std::string::npos) << shown.out;
  EXPECT_LT(std::stod(shown.out.substr(at + line_start.size())), 2) << "per cent, of a straight line";
}

/// The words of the line that holds `part`.
std::vector<std::string> words_of_line(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', at) + 1;
  std::istringstream line(text.substr(begin, text.find('\n', at) - begin));
  return {std::istream_iterator<std::string>(line), {}};
}

TEST_F(StoreVerb, SaysThatAnImportHasNoJournal) {
  ASSERT_EQ(dooly({"store", "import", store_, file_}).code, 0);
  const ProcessResult shown = dooly({"store", "show", store_, "journal"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err, store_ + ": the journal has no entries (sweeps write them)\n");
}

TEST_F(StoreVerb, ListsTheCollectives) {
  const std::string file = scratch_.name("comm.jsonl.zst");
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.topology = "all nvlink4x18 via nvswitch, multicast off";
  environment.source = "measured";
  store::PortableSink sink(file);
  sink.environment(environment);
  sink.document(store::links_record(environment, {{"", "nvlink4x18 via nvswitch"}, {"", ""}}));
  for (const auto& [bytes, median_s] : {std::pair{1024u, 1e-5}, {2048u, 1.2e-5}, {1048576u, 1e-4}}) {
    oracle::Sample sample;
    sample.point = {bytes, 2};
    sample.median_s = median_s;
    sink.sample(oracle::collective_key("all_reduce", "bfloat16", 2, "nccl"), sample);
  }
  oracle::Sample failed;
  failed.point = {4096, 2};
  failed.status = oracle::SampleStatus::kLaunchFailed;
  sink.sample(oracle::collective_key("all_gather", "bfloat16", 2, "nccl"), failed);
  sink.finish();
  for (const std::string& from : {file, store_}) {
    if (from == store_) {
      ASSERT_EQ(verb({"import", store_, file}).code, 0);
    }
    const ProcessResult shown = verb({"show", from, "collectives"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("nvlink4x18 via nvswitch, multicast off, measured)"), std::string::npos) << shown.out;
    const std::vector<std::string> row = words_of_line(shown.out, "all_reduce");
    ASSERT_EQ(row.size(), 12u) << shown.out;  // "5.0 %" are two words
    EXPECT_EQ((std::vector<std::string>(row.begin() + 1, row.begin() + 9)),
              (std::vector<std::string>{"all_reduce", "bfloat16", "2", "back-to-back", "nccl", "3", "1024..1048576",
                                        "10.000"}));
    EXPECT_EQ(row[9], "10.49") << "GB/s: 1 MiB in 100 us";
    const std::vector<std::string> none = words_of_line(shown.out, "all_gather");
    ASSERT_EQ(none.size(), 11u) << shown.out;
    EXPECT_EQ((std::vector<std::string>(none.begin() + 6, none.end())),
              (std::vector<std::string>{"0", "-", "-", "-", "-"}));
    EXPECT_NE(shown.out.find("\nlinks H200-SXM x2, all nvlink4x18 via nvswitch, multicast off\n"), std::string::npos);
    const ProcessResult links = verb({"show", from, "collectives", "H200-SXM x2"});
    EXPECT_NE(links.out.find("\"gpus\": 2"), std::string::npos) << links.out;
  }
  const ProcessResult none = verb({"show", file_, "collectives"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("holds no collectives"), std::string::npos) << none.err;
}

TEST_F(StoreVerb, ShowsInHowManyProcessesAPointWasMeasured) {
  const std::string file = scratch_.name("short.jsonl.zst");
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  store::PortableSink sink(file);
  sink.environment(environment);
  oracle::Sample sample;
  sample.point = {8};
  sample.count = 20;
  sample.median_s = 2e-6;
  sample.processes = 3;
  sink.sample(linear(1024), sample);
  sink.finish();
  const ProcessResult shown = verb({"show", file, "operator"});
  const std::vector<std::string> heading = words_of_line(shown.out, "PROCESSES"),
                                 row = words_of_line(shown.out, "2.000");
  const auto column = std::find(heading.begin(), heading.end(), "PROCESSES") - heading.begin();
  ASSERT_LT(static_cast<std::size_t>(column), row.size()) << shown.out;
  EXPECT_EQ(row[static_cast<std::size_t>(column)], "3") << shown.out;
  EXPECT_EQ(row[static_cast<std::size_t>(column) - 1], "20");
}

TEST_F(StoreVerb, AnImportTellsAFilesFormatByItsContent) {
  const std::string gemm = scratch_.file("table.csv",
                                         "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
                                         "TRTLLM,1.0,NVIDIA H200,gemm,torch_flow,bfloat16,64,4096,1024,0.02\n");
  const ProcessResult told = verb({"import", store_, gemm});
  EXPECT_EQ(told.code, 2) << "the name of the file is not one of the format's";
  EXPECT_NE(told.err.find("aiconfigurator"), std::string::npos) << told.err;
  std::filesystem::rename(gemm, scratch_ / "gemm_perf.csv");
  const ProcessResult imported = verb({"import", store_, scratch_.name("gemm_perf.csv"), "--gpu", "H200-SXM"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_NE(imported.err.find("gemm_perf.csv: of format aiconfigurator\n"), std::string::npos) << imported.err;
  const std::string plain = scratch_.name("plain");  // own files need no name
  std::filesystem::copy_file(file_, plain);
  EXPECT_EQ(verb({"import", scratch_.name("other"), plain}).code, 0);
}

TEST_F(StoreVerb, AnImportOfWhatNobodyKnowsListsTheFormats) {
  const ProcessResult unknown = verb({"import", store_, scratch_.file("notes.csv", "a,b\n1,2\n")});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("notes.csv: its content does not tell its format; --format NAME does; allowed: dooly, "
                             "aiconfigurator, apex, dooly-sqlite, frontier, infersim, llmservingsim, "
                             "llmservingsim-v0, nccl-tests, splitwise, vidur\n"),
            std::string::npos)
      << unknown.err;
  const ProcessResult several =
      verb({"import", store_, scratch_.file("mlp.csv", "time_stats.emb.median,n_embd\n1,2\n")});
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("may be of several formats; --format NAME says which; allowed: frontier, vidur\n"),
            std::string::npos)
      << several.err;
  const ProcessResult both = verb({"import", store_, file_, scratch_.file("x.csv", "dtype,seq_len,latency_us,mfu\n")});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("cannot be imported together"), std::string::npos) << both.err;
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(StoreVerb, ImportsShowsAndExportsTheSameBytes) {
  const ProcessResult imported = verb({"import", store_, file_});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_NE(imported.err.find("7 records written"), std::string::npos) << imported.err;
  const ProcessResult list = verb({"ls", store_});
  EXPECT_NE(list.out.find("2          4        H200-SXM, measured"), std::string::npos) << list.out;
  const ProcessResult operators = verb({"ls", store_, "--operators"});
  EXPECT_NE(operators.out.find("8..64   10.000..20.000  unknown  linear 1024x4096"), std::string::npos)
      << operators.out;
  const std::string signature = oracle::signature_of(linear(1024)).hex();
  const ProcessResult shown = verb({"show", store_, signature.substr(0, 8)});
  EXPECT_NE(shown.out.find("operator " + signature), std::string::npos) << shown.out << shown.err;
  EXPECT_NE(shown.out.find("unknown  64     ok      20.000"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("fit: 2 points, too few for an error"), std::string::npos) << shown.out;
  EXPECT_NE(verb({"stat", store_}).out.find("samples            4"), std::string::npos);
  const std::string out = scratch_.name("b.jsonl.zst");
  EXPECT_EQ(verb({"export", store_, out}).code, 0);
  EXPECT_EQ(read_file(out), read_file(file_));
  EXPECT_EQ(verb({"export", store_, out}).code, 2) << "is there already";
  EXPECT_EQ(verb({"export", store_, out, "--force"}).code, 0);
  EXPECT_EQ(verb({"diff", store_, out, "--exit-code"}).code, 0);
  EXPECT_EQ(verb({"verify", store_, out}).code, 0);
}

TEST_F(StoreVerb, ConflictsAreReportedAndNothingIsWritten) {
  ASSERT_EQ(verb({"import", store_, file_}).code, 0);
  const std::string other = scratch_.name("other.jsonl.zst");
  write(other, {{64, 3e-5}, {128, 4e-5}});
  const ProcessResult refused = verb({"import", store_, other});
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.out.find("point 64: median_s 0.00002 -> 0.00003 (+50.0 %)"), std::string::npos) << refused.out;
  EXPECT_NE(refused.err.find("2 conflicts, nothing was written; --prefer"), std::string::npos) << refused.err;
  EXPECT_EQ(verb({"diff", store_, file_, "--exit-code"}).code, 0);
  const std::string merged = scratch_.name("merged.jsonl.zst");
  EXPECT_EQ(verb({"merge", merged, file_, other}).code, 4);
  EXPECT_FALSE(std::filesystem::exists(merged));
  EXPECT_EQ(verb({"merge", merged, file_, other, "--prefer", "last"}).code, 0);
  EXPECT_EQ(verb({"import", store_, other, "--prefer", "new"}).code, 0);
  const ProcessResult same = verb({"diff", store_, merged, "--exit-code"});
  EXPECT_EQ(same.code, 0) << same.out;
  const ProcessResult differ = verb({"diff", file_, merged, "--exit-code"});
  EXPECT_EQ(differ.code, 4);
  EXPECT_NE(differ.out.find("5 records equal, 0 only in " + file_), std::string::npos) << differ.out;
}

TEST_F(StoreVerb, AKernelLibraryIsNamedWhereEnvironmentsDoNotYet) {
  const std::string old = scratch_.name("old.jsonl.zst"), named = scratch_.name("named.jsonl.zst");
  const oracle::OperatorKey attention =
      oracle::attention_key("bfloat16", "bfloat16", {.heads = 32, .kv_heads = 8, .head_dim = 128}, "triton");
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  environment.libraries = {{"torch", "2.11.0"}, {"vllm", "0.26.0"}};
  const auto write_both = [&](const std::string& path, bool is_new) {
    store::PortableSink sink(path);
    oracle::Sample sample;
    sample.median_s = 1e-5;
    sample.point = {64};
    sink.environment(environment);
    sink.sample(linear(1024), sample);
    sample.point = {0, 0, 0, 1, 15};
    sample.kernels = {"kernel_unified_attention", "reduce_segments"};
    if (is_new) sample.kernel_family = "triton";
    auto with = environment;
    if (is_new) with.libraries["triton"] = "3.6.0";
    sink.environment(with);
    sink.sample(attention, sample);
    sink.finish();
  };
  write_both(old, false);
  const ProcessResult result = verb({"import", named, old, "--library", "triton=3.6.0"});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string expected = scratch_.name("expected.jsonl.zst");
  write_both(expected, true);
  EXPECT_EQ(read_file(named), read_file(expected));
  EXPECT_EQ(verb({"verify", named}).out, named + ": sound\n");

  for (const auto& [word, why] :
       {std::pair{"triton", "--library: must be NAME=VERSION, got 'triton'"},
        std::pair{"triton=3.6 0", "--library: a version has letters, digits and . + _ - alone, got"},
        std::pair{"triton=3.6,x", "--library: a version has letters, digits and . + _ - alone, got"},
        std::pair{"cuda=13", "--library: unknown kernel library, got 'cuda'"},
        std::pair{"flashinfer=0.6.14", "holds no sample of kernels of flashinfer"}}) {
    const ProcessResult refused = verb({"import", scratch_.name("no.jsonl.zst"), old, "--library", word});
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  }
  EXPECT_NE(verb({"import", scratch_.name("no.jsonl.zst"), named, "--library", "triton=3.7.0"})
                .err.find("holds no sample of kernels of triton whose environment does not name it"),
            std::string::npos);
}

TEST_F(StoreVerb, DamageIsStatusFour) {
  ASSERT_EQ(verb({"import", store_, file_}).code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(store_)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream table(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const int byte = table.get();
    table.seekp(0);
    table.put(static_cast<char>(byte ^ 1));
    break;
  }
  const ProcessResult verdict = verb({"verify", store_});
  EXPECT_EQ(verdict.code, 4) << verdict.out;
  EXPECT_NE(verdict.out.find(".sst: its bytes differ"), std::string::npos) << verdict.out;
  std::ofstream(file_, std::ios::app) << "x";
  EXPECT_EQ(verb({"verify", file_}).code, 4);
}

TEST_F(StoreVerb, AnExportSaysWhereItsSamplesComeFrom) {
  const std::string profile = scratch_.name("profile"), exported = scratch_.name("exported");
  const std::string first = scratch_.name("first.jsonl.zst"), again = scratch_.name("again.jsonl.zst");
  const std::filesystem::path at = profile + "/RTXPRO6000/meta-llama/Llama-3.1-8B/bf16";
  std::filesystem::create_directories(at / "tp1");
  std::ofstream(at / "meta.yaml") << "gpu: RTX-PRO-6000\nvllm_version: 0.19.0\ncuda_version: 13.0\n";
  std::ofstream(at / "tp1/dense.csv") << "layer,tokens,time_us\nqkv_proj,1,20.1\nqkv_proj,2,20.3\n";
  ASSERT_EQ(verb({"import", first, profile, "--format", "llmservingsim"}).code, 0);
  const ProcessResult wrote =
      verb({"export", first, exported, "--format", "llmservingsim", "--model", "meta-llama/Llama-3.1-8B"});
  ASSERT_EQ(wrote.code, 0) << wrote.err;
  const ProcessResult full = dooly({"store", "export", first, scratch_.name("full"), "--format", "llmservingsim",
                                    "--model", "meta-llama/Llama-3.1-8B"},
                                   {.file_size = 40});
  EXPECT_EQ(full.code, 3);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "full"));
  const ProcessResult none = verb({"export", first, scratch_.name("none"), "--format", "llmservingsim", "--model",
                                   "meta-llama/Llama-3.1-8B", "--environment", "zzz"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err,
            "--environment: no environment of the store has this in its id or description, got 'zzz'; dooly store ls "
            "lists them\n");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "none"));
  ASSERT_EQ(verb({"import", again, exported, "--format", "llmservingsim"}).code, 0);
  const ProcessResult same = verb({"diff", first, again, "--exit-code"});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_NE(same.out.find("4 records equal"), std::string::npos) << same.out;
}

TEST_F(StoreVerb, AnExportIsOfTensorParallelDegreesWithCommas) {
  const std::string profile = scratch_.name("profile"), first = scratch_.name("first.jsonl.zst");
  const std::filesystem::path at = profile + "/RTXPRO6000/meta-llama/Llama-3.1-8B/bf16";
  for (const char* degree : {"tp1", "tp2"}) {
    std::filesystem::create_directories(at / degree);
    std::ofstream(at / degree / "dense.csv") << "layer,tokens,time_us\nqkv_proj,1,20.1\nqkv_proj,2,20.3\n";
  }
  std::ofstream(at / "meta.yaml") << "gpu: RTX-PRO-6000\nvllm_version: 0.19.0\ncuda_version: 13.0\n";
  ASSERT_EQ(verb({"import", first, profile, "--format", "llmservingsim"}).code, 0);
  const auto exported = [&](const std::string& folder, const std::vector<std::string>& degrees) {
    std::vector<std::string> words{"export",        first,     scratch_.name(folder),    "--format",
                                   "llmservingsim", "--model", "meta-llama/Llama-3.1-8B"};
    for (const std::string& each : degrees) words.insert(words.end(), {"--tp", each});
    return verb(words);
  };
  const ProcessResult listed = exported("listed", {"1,2"}), repeated = exported("repeated", {"1", "2"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out, repeated.out);
  EXPECT_NE(listed.out.find("tp2/dense.csv"), std::string::npos) << listed.out;
  std::vector<std::string> again{"export",        first,     scratch_.name("listed"),  "--format",
                                 "llmservingsim", "--model", "meta-llama/Llama-3.1-8B"};
  EXPECT_EQ(verb(again).code, 2);
  again.emplace_back("--force");
  const ProcessResult smaller = verb(again);
  EXPECT_EQ(smaller.code, 0) << smaller.err;
  EXPECT_NE(smaller.out.find("Removed, since they are of an earlier export and not of this one:\n"), std::string::npos)
      << smaller.out;
  EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(scratch_ / "listed"), {}), 7) << smaller.out;
  EXPECT_EQ(exported("twice", {"2,1", "2"}).err, "--tp: 2 comes twice\n");
  EXPECT_EQ(exported("gap", {"1,"}).err, "--tp: must be a positive number, got ''\n");
}

TEST_F(StoreVerb, AnExportOfCollectivesIsOfOneNode) {
  const std::string store = scratch_.name("network.jsonl.zst"), exported = scratch_.name("network");
  std::filesystem::create_directories(scratch_ / "source/network/a100_dgx");
  std::ofstream(scratch_ / "source/network/a100_dgx/all_reduce.csv")
      << "time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node,max_devices_per_node\n"
         "0.03,0,2,2048,all_reduce,2,8\n0.09,0,2,2048,all_reduce,1,8\n";
  ASSERT_EQ(verb({"import", store, scratch_.name("source"), "--format", "vidur"}).code, 0);
  const ProcessResult wrote =
      verb({"export", store, exported, "--format", "vidur", "--model", "meta-llama/Llama-2-7b-hf", "--gpu", "a100"});
  ASSERT_EQ(wrote.code, 0) << wrote.err;
  EXPECT_NE(wrote.out.find("Left out: collectives across nodes (environments: 1); those within one are written, "
                           "--environment takes another\n"),
            std::string::npos)
      << wrote.out;
  std::ifstream in(exported + "/network/a100_dgx/all_reduce.csv");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(text.find("0.03"), std::string::npos) << text;
  EXPECT_EQ(text.find("0.09"), std::string::npos) << text;
}

TEST_F(StoreVerb, ReadsWhatANameBeginsAsOneStore) {
  write(scratch_.name("b-1.jsonl.zst"), {{8, 1e-5}, {128, 3e-5}});
  write(scratch_.name("by-kind.jsonl.zst"), {{256, 5e-5}});
  const std::string b = scratch_.name("b");
  // points 8 and 128 of the one, 256 of the other, of two operators each; a.jsonl.zst is not meant
  const ProcessResult stat = verb({"stat", b});
  EXPECT_EQ(stat.code, 0) << stat.err;
  EXPECT_NE(stat.out.find("samples            6\n"), std::string::npos) << stat.out;
  const auto bytes =
      std::filesystem::file_size(b + "-1.jsonl.zst") + std::filesystem::file_size(b + "y-kind.jsonl.zst");
  EXPECT_NE(stat.out.find("bytes on disk      " + std::to_string(bytes / 1000) + ","), std::string::npos) << stat.out;
  ASSERT_EQ(verb({"export", b, scratch_.name("whole.jsonl.zst")}).code, 0);
  EXPECT_EQ(verb({"diff", b, scratch_.name("whole"), "--exit-code"}).code, 0);
  EXPECT_EQ(verb({"verify", b}).out, b + "-1.jsonl.zst: sound\n" + b + "y-kind.jsonl.zst: sound\n");
  EXPECT_NE(verb({"show", b, "operator", oracle::signature_of(linear(1024)).hex()}).out.find("256"), std::string::npos);
}

TEST_F(StoreVerb, StoresOfOneNameThatContradictEachOtherAreRefused) {
  write(scratch_.name("b-1.jsonl.zst"), {{8, 1e-5}});
  write(scratch_.name("b-2.jsonl.zst"), {{8, 2e-5}});
  const ProcessResult result = verb({"ls", scratch_.name("b")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err.rfind(scratch_.name("b") + ": these stores contradict each other: ~ sample of ", 0), 0u)
      << result.err;
}

TEST_F(StoreVerb, APreferenceReachesFilesBehindOneName) {
  write(scratch_.name("b-1.jsonl.zst"), {{8, 1e-5}});
  write(scratch_.name("b-2.jsonl.zst"), {{8, 2e-5}});
  const std::string out = scratch_.name("out.jsonl.zst"), name = scratch_.name("b");
  const ProcessResult refused = verb({"merge", out, name});
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_NE(refused.out.find("median_s 0.00001 -> 0.00002"), std::string::npos) << refused.out;
  EXPECT_NE(refused.err.find("2 conflicts, nothing was written; --prefer"), std::string::npos) << refused.err;
  for (const auto& [side, kept] : {std::pair{"first", "b-1"}, {"last", "b-2"}}) {
    EXPECT_EQ(verb({"merge", out, name, "--prefer", side, "--force"}).code, 0) << side;
    EXPECT_EQ(verb({"diff", out, scratch_.name(kept), "--exit-code"}).code, 0) << side;
  }
  EXPECT_EQ(verb({"import", store_, name}).code, 4);
  EXPECT_EQ(verb({"import", store_, name, "--prefer", "new"}).code, 0);
  EXPECT_EQ(verb({"diff", store_, scratch_.name("b-2"), "--exit-code"}).code, 0);
  EXPECT_EQ(verb({"merge", scratch_.name("b-2.jsonl.zst"), name, "--force"}).err,
            scratch_.name("b-2.jsonl.zst") + ": is an input too; dooly store import adds to a store\n");
  EXPECT_EQ(verb({"merge", "/dev/null", name}).err, "/dev/null: must be a directory or a portable file\n");
  EXPECT_EQ(verb({"import", "/dev/null", name}).err, "/dev/null: must be a directory or a portable file\n");
}

TEST_F(StoreVerb, WhatIsNoStoreIsRefused) {
  EXPECT_EQ(verb({"ls", scratch_.name("absent")}).err,
            scratch_.name("absent") + ": no such store: neither a directory nor a file, and no absent*.jsonl.zst in " +
                scratch_.path().string() + "; there: a\n");
  EXPECT_EQ(verb({"ls", scratch_.path()}).code, 2);
  EXPECT_EQ(verb({"show", file_, "operator", "ffff"}).code, 2);
  EXPECT_NE(verb({"show", file_, "operator"}).err.find("say more of its name"), std::string::npos);
  EXPECT_EQ(verb({"import", store_, file_, "--format", "excel"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(StoreVerb, OptionsOfForeignProfilesAreRefusedForOwnFiles) {
  for (const char* option : {"--gpu", "--engine", "--model", "--dtype", "--kv-dtype", "--backend", "--topology",
                             "--driver", "--cuda", "--tp", "--block-size"}) {
    const ProcessResult result = verb({"import", store_, file_, option, "1"});
    EXPECT_EQ(result.code, 2) << option;
    EXPECT_EQ(result.err, std::string(option) + ": is for foreign profiles; " + file_ +
                              " is a portable file or a store, which says so itself\n");
  }
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(StoreVerb, AnImportOfATableWithoutRowsLeavesNothing) {
  const std::string table =
      scratch_.file("gemm_perf.csv", "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n");
  const ProcessResult result = verb({"import", store_, table, "--gpu", "H200-SXM"});
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_NE(result.err.find("gemm_perf.csv: nothing to import"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(StoreVerb, ALinkThatLeadsBackIsFollowedOnce) {
  std::filesystem::create_directories(scratch_ / "profile");
  scratch_.file("profile/gemm_perf.csv",
                "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
                "TRTLLM,1.0,NVIDIA H200,gemm,torch_flow,bfloat16,64,4096,1024,0.02\n");
  std::filesystem::create_directory_symlink(".", scratch_ / "profile/latest");
  std::filesystem::create_symlink("itself", scratch_ / "profile/itself");
  const ProcessResult result = verb({"import", store_, scratch_.name("profile"), "--gpu", "H200-SXM"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(verb({"stat", store_}).out.find("samples            1\n"), std::string::npos);
}

TEST_F(StoreVerb, ShowsOneRecordAlone) {
  const std::string file = scratch_.name("links.jsonl.zst");
  store::PortableWriter writer(file);
  for (const char* name : {"A100", "A100 x2, one", "A100 x2, two \x1b[2J", "B"})
    writer.write(store::CommRecord{{name, "{}"}});
  writer.finish();
  const ProcessResult joined = verb({"show", file, "collectives", "A100", "x2,", "one"});
  EXPECT_EQ(joined.code, 0) << joined.err;
  EXPECT_EQ(joined.out, "{}\n");
  EXPECT_EQ(verb({"show", file, "collectives", "A100"}).out, "{}\n") << "its whole name";
  const ProcessResult several = verb({"show", file, "collectives", "A100 x"});
  EXPECT_EQ(several.code, 2);
  EXPECT_EQ(several.out, "");
  EXPECT_EQ(several.err,
            "'A100 x' could be collectives A100 x2, one or collectives A100 x2, two \\x1b[2J: say more of its name\n");
  EXPECT_NE(verb({"ls", file}).out.find("collectives A100 x2, two \\x1b[2J\n"), std::string::npos);
  const ProcessResult any = verb({"show", file_, "operator"});
  EXPECT_EQ(any.code, 2);
  EXPECT_EQ(any.out, "");
  EXPECT_EQ(any.err.rfind("it could be operator ", 0), 0u) << any.err;
}

}  // namespace
}  // namespace dooly::cli
