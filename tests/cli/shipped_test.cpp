// Every shipped scenario does what its header says: the commands under "Look at" run, and have the effect they name.
#include "dooly_process.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

namespace dooly::cli {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

/// The comment lines on top, as one line.
std::string header_of(const std::string& file) {
  std::istringstream lines(read_file(test::source_path("scenarios") / file));
  std::string header, line;
  while (std::getline(lines, line) && line.starts_with("# ")) header += (header.empty() ? "" : " ") + line.substr(2);
  return header;
}

class Shipped : public testing::Test {
 protected:
  explicit Shipped(std::string file) : file_(std::move(file)) {}

  /// The summary of a run with this advice of the header, `more` added to shorten it.
  json summary(const std::string& advice = "", const Words& more = {}) {
    if (!advice.empty()) {
      EXPECT_NE(header_of(file_).find("`" + advice + "`"), std::string::npos) << file_ << " does not advise " << advice;
    }
    Words line{"run", (test::source_path("scenarios") / file_).string(), "--quiet", "--format", "json"};
    for (const std::string& word : words_of(advice)) line.push_back(word);
    for (const std::string& word : more) line.push_back(word);
    const ProcessResult result = dooly(line);
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.code == 0 ? result.out : "{}");
  }
  static double kv(const json& summary, const char* figure) {
    return summary.at("pools").at(0).at("kv").at(figure).get<double>();
  }
  static double time(const json& summary, const char* distribution, const char* figure) {
    return summary.at(distribution).at(figure).get<double>();
  }
  static double goodput(const json& summary) { return summary.at("goodput").at("share").get<double>(); }

 private:
  /// As a shell splits them; single quotes group.
  static Words words_of(const std::string& text) {
    Words words;
    std::string word;
    bool is_quoted = false;
    for (const char c : text + " ") {
      if (c == '\'') {
        is_quoted = !is_quoted;
      } else if (c != ' ' || is_quoted) {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
    return words;
  }
  std::string file_;
};

struct Quickstart : Shipped {
  Quickstart() : Shipped("quickstart.yaml") {}
};
TEST_F(Quickstart, WaitingGrowsWithFewerReplicasAndMoreLoad) {
  const json usual = summary();
  EXPECT_EQ(goodput(usual), 1);
  EXPECT_GT(time(summary("--set replicas=1"), "ttft_s", "p99"), 1.5 * time(usual, "ttft_s", "p99"));
  EXPECT_GT(time(summary("--set workload.synthetic.arrivals.rate=80/s"), "ttft_s", "p99"),
            10 * time(usual, "ttft_s", "p99"));
}

struct KvPressure : Shipped {
  KvPressure() : Shipped("kv-pressure.yaml") {}
};
TEST_F(KvPressure, Preempts) {
  const json tight = summary();
  EXPECT_GT(kv(tight, "preemptions"), 500);
  EXPECT_EQ(kv(tight, "peak_share"), 1);
  const json roomy = summary("--set engine.num_gpu_blocks_override=null");
  EXPECT_EQ(kv(roomy, "preemptions"), 0);
  EXPECT_GT(time(tight, "ttft_s", "p99"), 10 * time(roomy, "ttft_s", "p99"));
  EXPECT_GT(time(tight, "tpot_s", "p99"), 1.2 * time(roomy, "tpot_s", "p99"));
  const json held_back = summary("--set engine.watermark=0.05");
  EXPECT_LT(kv(held_back, "preemptions"), 0.05 * kv(tight, "preemptions"));
  EXPECT_LT(time(held_back, "tpot_s", "p99"), 0.9 * time(tight, "tpot_s", "p99"));
}

struct MultiTurn : Shipped {
  MultiTurn() : Shipped("multi-turn.yaml") {}
};
TEST_F(MultiTurn, FindsConversationsInTheCache) {
  const json usual = summary();
  EXPECT_GT(kv(usual, "prefix_hit_share"), 0.8);
  const json forgetful = summary("--set engine.num_gpu_blocks_override=4000");
  EXPECT_LT(kv(forgetful, "prefix_hit_share"), 0.3);
  EXPECT_GT(time(forgetful, "ttft_s", "p50"), 3 * time(usual, "ttft_s", "p50"));
}

struct Disaggregated : Shipped {
  Disaggregated() : Shipped("disaggregated.yaml") {}
};
TEST_F(Disaggregated, SlowCardsMakeTransfersQueue) {
  const auto mean_transfer_s = [](const Scratch& scratch) {
    std::istringstream rows(read_file(scratch / "out" / "requests.csv"));
    std::string row, cell;
    std::getline(rows, row);
    std::size_t column = 0;
    for (std::istringstream cells(row); std::getline(cells, cell, ',') && cell != "transfer_s";) ++column;
    double sum = 0, count = 0;
    while (std::getline(rows, row)) {
      std::istringstream cells(row);
      for (std::size_t i = 0; i <= column; ++i) std::getline(cells, cell, ',');
      sum += std::stod(cell);
      ++count;
    }
    return sum / count;
  };
  const Scratch fast, slow;
  const json usual = summary("", {"--out", fast.name("out")});
  EXPECT_EQ(usual.at("network").at("flows"), 4000);
  const json narrow = summary("--set cluster.nodes.h.nics.bandwidth=50Gbps", {"--out", slow.name("out")});
  EXPECT_GT(mean_transfer_s(slow), 50 * mean_transfer_s(fast));
  EXPECT_GT(narrow.at("network").at("max_concurrent"), usual.at("network").at("max_concurrent"));
  EXPECT_LT(time(narrow, "tpot_s", "p99"), 1.2 * time(usual, "tpot_s", "p99"));
}

struct PluginPolicy : Shipped {
  PluginPolicy() : Shipped("plugin-policy.yaml") {}
};
TEST_F(PluginPolicy, ShortPromptsGoFirst) {
  const json shortest = summary("", {"--set", "scheduler.plugin=" EXAMPLES_PLUGIN});
  const json served_in_order = summary("--set 'pools.main.scheduler={policy: vllm-v1}'");
  EXPECT_LT(time(shortest, "ttft_s", "p50"), 0.8 * time(served_in_order, "ttft_s", "p50"));
  EXPECT_GT(time(shortest, "ttft_s", "p99"), 1.1 * time(served_in_order, "ttft_s", "p99"));
  EXPECT_GT(goodput(shortest), 1.1 * goodput(served_in_order));
  const json knowing =
      summary("--set scheduler.grant_output_lengths=true", {"--set", "scheduler.plugin=" EXAMPLES_PLUGIN});
  EXPECT_LT(time(knowing, "e2e_s", "p50"), time(served_in_order, "e2e_s", "p50"));
  EXPECT_NE(time(knowing, "ttft_s", "p50"), time(shortest, "ttft_s", "p50"));
}
TEST_F(PluginPolicy, WritesWhatItDecided) {
  const Scratch scratch;
  ASSERT_NE(header_of("plugin-policy.yaml").find("`--set output.decisions=jsonl --out DIR`"), std::string::npos);
  summary("", {"--set", "scheduler.plugin=" EXAMPLES_PLUGIN, "--set", "output.decisions=jsonl", "--set",
               "workload.synthetic.requests=50", "--out", scratch.name("out")});
  EXPECT_GT(std::filesystem::file_size(scratch / "out" / "decisions.jsonl"), 1000u);
}

struct AzureConversation : Shipped {
  AzureConversation() : Shipped("azure-conversation.yaml") {}
};
TEST_F(AzureConversation, RealArrivalsComeInBursts) {
  const auto trace = test::data_path("data/traces/azure-2023/AzureLLMInferenceTrace_conv.csv.gz");
  if (!std::filesystem::exists(trace)) GTEST_SKIP() << "missing " << trace;
  const json usual = summary();
  EXPECT_GT(time(usual, "ttft_s", "p99"), 4 * time(usual, "ttft_s", "p50"));
  EXPECT_GT(summary("--set workload.trace.speedup=1").at("simulated_s"), 3.9 * usual.at("simulated_s").get<double>());
  const json smooth =
      summary("--set workload.trace.speedup=null --set 'workload.trace.arrivals={process: poisson, rate: 21.5/s}'");
  EXPECT_LT(time(smooth, "ttft_s", "p99"), 0.9 * time(usual, "ttft_s", "p99"));
  EXPECT_EQ(smooth.at("tokens").at("prompt"), usual.at("tokens").at("prompt"));
}

struct MooncakePrefix : Shipped {
  MooncakePrefix() : Shipped("mooncake-prefix.yaml") {}
};
TEST_F(MooncakePrefix, TheRouterKeepsConversationsTogether) {
  const auto trace = test::data_path("data/traces/mooncake/conversation_trace.jsonl.gz");
  if (!std::filesystem::exists(trace)) GTEST_SKIP() << "missing " << trace;
  const double aware = kv(summary(), "prefix_hit_share");
  EXPECT_GT(aware, 0.2);
  EXPECT_LT(kv(summary("--set router=least_requests"), "prefix_hit_share"), 0.5 * aware);
  EXPECT_EQ(kv(summary("--set engine.enable_prefix_caching=false"), "prefix_hit_share"), 0);
}

struct ImportedProfile : Shipped {
  ImportedProfile() : Shipped("imported-profile.yaml") {}
  void TearDown() override { std::filesystem::remove_all(directory_); }
  /// Layer profiles in LLMServingSim's layout, all operators twice as slow as the device's data sheet would have the
  /// one that is asked about below.
  void write_profile() const {
    const auto place = directory_ / "RTXPRO6000/meta-llama--Llama-3.1-8B/bf16";
    std::filesystem::create_directories(place / "tp1");
    std::ofstream(place / "meta.yaml") << "vllm_version: 0.19.0\ngpu: NVIDIA RTX PRO 6000 Blackwell Server Edition\n"
                                          "model: meta-llama/Llama-3.1-8B\nmeasurement_iterations: 3\n";
    std::ofstream(place / "tp1/dense.csv") << "layer,tokens,time_us\ngate_up_proj,1,320\ngate_up_proj,128,360\n"
                                              "gate_up_proj,2048,2300\n";
    std::ofstream(place / "tp1/attention.csv")
        << "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,1024,20\n0,0,128,1024,800\n512,0,0,0,50\n"
           "2048,0,0,0,350\n512,0,128,1024,1400\n";
  }
  std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / ("dooly-imported-" + std::to_string(::getpid()));
};
TEST_F(ImportedProfile, RunsOnWhatWasImported) {
  EXPECT_NE(header_of("imported-profile.yaml").find("dooly store import"), std::string::npos);
  write_profile();
  const std::string store = (directory_ / "rtx-pro-6000.jsonl.zst").string();
  const ProcessResult imported =
      dooly({"store", "import", store, (directory_ / "RTXPRO6000").string(), "--format", "llmservingsim"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  const json measured = summary("", {"--set", "oracle=[{kind: profiled, store: " + store + "}, roofline]"});
  const json estimated = summary("--set 'oracle=[roofline]'");
  EXPECT_EQ(measured.at("requests").at("completed"), 500);
  const json& shares = measured.at("oracle").at("answers");
  EXPECT_GT(shares.at("measured").get<double>() + shares.at("interpolated").get<double>(), 0.3);
  EXPECT_EQ(estimated.at("oracle").at("answers").at("roofline"), 1);
  const ProcessResult text = dooly({"run", (test::source_path("scenarios") / "imported-profile.yaml").string(), "--set",
                                    "oracle=[{kind: profiled, store: " + store + "}, roofline]"});
  EXPECT_TRUE(std::regex_search(text.out, std::regex("oracle .*% interpolated.*% roofline; states an error of")))
      << text.out;
  EXPECT_GT(time(measured, "tpot_s", "mean"), 1.1 * time(estimated, "tpot_s", "mean"));
}

struct Scale10240Gpus : Shipped {
  Scale10240Gpus() : Shipped("scale-10240-gpus.yaml") {}
};
TEST_F(Scale10240Gpus, ManyFlowsAtOnce) {
  ASSERT_NE(header_of("scale-10240-gpus.yaml").find("`--set workload.synthetic.requests=1000000`"), std::string::npos);
  const json shorter = summary("", {"--set", "workload.synthetic.requests=10000"});
  EXPECT_EQ(shorter.at("gpus"), 10240);
  EXPECT_EQ(shorter.at("network").at("flows"), 10000);
  EXPECT_GT(shorter.at("network").at("max_concurrent"), 10);
}

}  // namespace
}  // namespace dooly::cli
