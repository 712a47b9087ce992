#include "program_run.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ostream>
#include <regex>

namespace dooly::e2e {
namespace {

/// An option and two legal values: the results must differ, or an option would be read and ignored.
struct Option {
  const char* key;
  const char* one;
  const char* other;
  Sets beside = {};  ///< what makes it matter
};

void PrintTo(const Option& option, std::ostream* out) {
  *out << option.key << ": " << option.one << " | " << option.other;
}

/// requests.csv and the summary without what names the scenario.
std::string results(const std::string& scenario, const Option& option, const char* value) {
  Sets sets = option.beside;
  sets.push_back(fmt::format("{}={}", option.key, value));
  const RunResult run = run_scenario(scenario, sets);
  EXPECT_EQ(run.process.code, 0) << option.key << "=" << value << ": " << run.process.err;
  if (run.process.code != 0) return {};
  nlohmann::json summary = run.summary;
  summary.erase("scenario");
  return run.requests_text + summary.dump();
}

class EveryEngineOption : public testing::TestWithParam<Option> {};
class EverySplitOption : public testing::TestWithParam<Option> {};
class EveryTraceOption : public testing::TestWithParam<Option> {};

TEST_P(EveryEngineOption, ChangesTheResults) {
  EXPECT_TRUE(results("options.yaml", GetParam(), GetParam().one) !=
              results("options.yaml", GetParam(), GetParam().other));
}
TEST_P(EverySplitOption, ChangesTheResults) {
  EXPECT_TRUE(results("options-split.yaml", GetParam(), GetParam().one) !=
              results("options-split.yaml", GetParam(), GetParam().other));
}

TEST_P(EveryTraceOption, ChangesTheResults) {
  EXPECT_TRUE(results("options-trace.yaml", GetParam(), GetParam().one) !=
              results("options-trace.yaml", GetParam(), GetParam().other));
}

std::string name_of(const testing::TestParamInfo<Option>& instance) {
  return std::regex_replace(std::string(instance.param.key) + "_" + std::to_string(instance.index),
                            std::regex("[^A-Za-z0-9]"), "_");
}

const char* kRoomy = "pools.main.engine.num_gpu_blocks_override=null";

INSTANTIATE_TEST_SUITE_P(
    Options, EveryEngineOption,
    testing::Values(
        Option{"seed", "1", "2"}, Option{"pools.main.replicas", "2", "3"}, Option{"pools.main.parallel.tp", "1", "2"},
        Option{"pools.main.model.config", "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B"},
        Option{"pools.main.model.dtype", "bfloat16", "float32"}, Option{"cluster.nodes.n.gpu", "H200-SXM", "H100-SXM"},
        Option{"cluster.nodes.n.nvlink", "450GB/s", "100GB/s", {"pools.main.parallel.tp=4"}},
        // the engine
        Option{"pools.main.engine.max_model_len", "7000", "6000"},
        Option{"pools.main.engine.max_num_batched_tokens", "8192", "2048"},
        Option{"pools.main.engine.max_num_seqs", "1024", "8"}, Option{"pools.main.engine.block_size", "16", "32"},
        Option{"pools.main.engine.kv_cache_dtype", "auto", "fp8", {kRoomy}},
        Option{"pools.main.engine.gpu_memory_utilization", "0.92", "0.5", {kRoomy}},
        Option{"pools.main.engine.num_gpu_blocks_override", "1201", "800"},
        Option{"pools.main.engine.enable_prefix_caching", "true", "false"},
        Option{"pools.main.engine.enable_chunked_prefill", "true", "false"},
        Option{"pools.main.engine.long_prefill_token_threshold", "0", "512"},
        Option{"pools.main.engine.scheduler_reserve_full_isl",
               "true",
               "false",
               {"pools.main.engine.max_num_batched_tokens=1024"}},
        Option{"pools.main.engine.watermark", "0", "0.1"},
        Option{"pools.main.engine.async_scheduling", "true", "false"},
        Option{"pools.main.engine.cudagraph_capture_sizes", "default", "[]"},
        Option{"pools.main.engine.cudagraph_capture_sizes", "default", "[1, 256]"},
        // policies and routers
        Option{"pools.main.scheduler", "vllm-v1", "static"},
        Option{"pools.main.scheduler", "{policy: static, options: {batch_size: 4}}",
               "{policy: static, options: {batch_size: 8}}"},
        Option{"pools.main.router", "round_robin", "random"},
        Option{"pools.main.router", "least_requests", "least_tokens"},
        Option{"pools.main.router", "power_of_two", "prefix_aware"},
        Option{"pools.main.router",
               "{policy: power_of_two, options: {load: requests}}",
               "{policy: power_of_two, options: {load: tokens}}",
               {"pools.main.replicas=4"}},
        Option{"pools.main.router",
               "{policy: prefix_aware, options: {cache_weight: 1}}",
               "{policy: prefix_aware, options: {cache_weight: 0}}",
               {"workload.batch.synthetic.prefix={groups: 8, tokens: 1024}", kRoomy}},
        Option{"pools.main.router", "{policy: prefix_aware, options: {load_weight: 0}}",
               "{policy: prefix_aware, options: {load_weight: 1}}"},
        Option{"pools.main.router.signal_delay", "0s", "2s"},
        // the host and the oracle
        Option{"platform.host", "h200-vm", "bare-metal"},
        Option{"platform", "none", "{base: none, host: {schedule: 1ms}}"},
        Option{"platform", "bare-metal", "{base: bare-metal, host: {schedule: 1ms}}"},
        Option{"platform.base", "none", "bare-metal", {"platform.host={schedule: 1ms}"}},
        Option{"oracle", "roofline", "{kind: fixed, base: 10ms}"},
        Option{"oracle", "{kind: fixed, base: 10ms}", "{kind: fixed, base: 10ms, per_token: 1us}"},
        Option{"oracle", "{kind: fixed, base: 10ms}", "{kind: fixed, base: 10ms, per_1000_context: 1us}"},
        // workloads
        Option{"workload.chat.synthetic.requests", "300", "200"},
        Option{"workload.batch.synthetic.duration", "15s", "10s"},
        Option{"workload.chat.synthetic.arrivals.rate", "12/s", "20/s"},
        Option{"workload.batch.synthetic.arrivals.cv", "2", "3"},
        Option{"workload.chat.synthetic.prompt_tokens", "{uniform: [20, 800]}",
               "{lognormal: {mean: 300, p99: 800, max: 1000}}"},
        Option{"workload.chat.synthetic.output_tokens", "{uniform: [1, 200]}", "{zipf: {exponent: 1.2, max: 200}}"},
        Option{"workload.batch.synthetic.prefix.groups", "2", "20"},
        Option{"workload.batch.synthetic.prefix.tokens", "1024", "512"},
        Option{"workload.batch.synthetic.prefix.share", "0.5", "1"},
        Option{"workload.chat.synthetic.class", "null", "other"},
        Option{"workload.batch.synthetic.priority", "5", "-5", {"pools.main.engine.scheduling_policy=priority"}},
        Option{"workload.chat.slo.ttft", "200ms", "100ms"}, Option{"workload.chat.slo.tpot", "30ms", "10ms"},
        Option{"workload.batch.slo.e2e", "6s", "3s"},
        Option{"workload.chat.synthetic.arrivals", "{process: closed_loop, concurrency: 8}",
               "{process: closed_loop, concurrency: 9}"},
        Option{"workload.chat.synthetic.arrivals", "{process: closed_loop, concurrency: 8}",
               "{process: closed_loop, concurrency: 8, think_time: 1s}"},
        Option{"workload.chat.synthetic.arrivals", "{process: bursts, rate: 10/s, size: 5}",
               "{process: bursts, rate: 10/s, size: 6}"},
        Option{"workload.chat.synthetic.arrivals", "{process: at_once}", "{process: constant, rate: 100/s}"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Options, EverySplitOption,
    testing::Values(
        Option{"kv_transfer.first_token", "decode", "prefill"}, Option{"cluster.fabric.link.latency", "2us", "2ms"},
        Option{"cluster.fabric.link.bandwidth", "400Gbps", "20Gbps"},
        Option{"cluster.fabric.oversubscription", "1", "16"},
        Option{"cluster.fabric.nodes_per_leaf", "1", "4", {"cluster.fabric.oversubscription=16"}},
        Option{"cluster.nodes.n.nics.bandwidth", "400Gbps", "20Gbps"}, Option{"cluster.nodes.n.nics.count", "1", "2"},
        Option{"pools.decode.replicas", "2", "1"},
        Option{"pools.prefill.replicas", "2", "1", {"pools.decode.replicas=2"}},
        Option{"pools.decode.engine.max_num_seqs", "1024", "4"}, Option{"workload.sessions.sessions", "40", "30"},
        Option{"workload.sessions.turns", "3", "{uniform: [1, 5]}"}, Option{"workload.sessions.think_time", "1s", "2s"},
        Option{"workload.sessions.first_prompt", "800", "900"}, Option{"workload.sessions.turn_prompt", "200", "300"},
        Option{"workload.sessions.output_tokens", "50", "60"},
        Option{"workload.sessions.prefix", "{groups: 1, tokens: 256}", "{groups: 9, tokens: 256}"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Options, EveryTraceOption,
    testing::Values(Option{"workload.trace.speedup", "1", "2"}, Option{"workload.trace.limit", "null", "30"},
                    Option{"workload.trace.loop", "1", "2"}, Option{"workload.trace.duration", "null", "4s"},
                    Option{"workload.trace.class", "null", "other"},
                    Option{"workload.trace.too_long", "reject", "truncate", {"engine.max_model_len=1000"}},
                    Option{"workload.trace.arrivals", "{process: poisson, rate: 4/s}",
                           "{process: constant, rate: 4/s}"}),
    name_of);

/// A priority where nobody looks at it is refused; where somebody does it shows.
TEST(Options, SchedulingPolicyChangesTheResults) {
  const Option priority{
      "workload.batch.synthetic.priority", "5", "0", {"pools.main.engine.scheduling_policy=priority"}};
  EXPECT_TRUE(results("options.yaml", priority, "5") != results("options.yaml", priority, "0"));
  const RunResult refused = run_scenario("options.yaml", {"workload.batch.synthetic.priority=5"});
  EXPECT_EQ(refused.process.code, 2) << "accepted and ignored";
}

/// Which attention kernels run is the oracle's business; one that cannot tell them apart must not pretend.
TEST(Options, AnAttentionBackendThatNobodyTellsApartIsRefused) {
  const cli::ProcessResult result =
      cli::dooly({"check", scenario_path("options.yaml"), "--set", "pools.main.engine.attention_backend=FLASHINFER"});
  EXPECT_EQ(result.code, 2) << "accepted and ignored";
}

/// Terms of the host, one by one.
TEST(Options, EveryHostTimeChangesTheResults) {
  const Sets common{"workload.chat.synthetic.requests=60", "workload.batch.synthetic.duration=3s"};
  const Option none{"platform", "none", "", common};
  const std::string free_of_charge = results("options.yaml", none, "none");
  for (const char* term : {"input",
                           "input_per_1000_tokens",
                           "hashing_per_1000_tokens",
                           "schedule",
                           "schedule_per_request",
                           "launch_full",
                           "launch_full_per_layer",
                           "launch_piecewise",
                           "launch_piecewise_per_layer",
                           "launch_none",
                           "launch_none_per_layer",
                           "gaps_full",
                           "gaps_full_per_layer",
                           "gaps_piecewise",
                           "gaps_piecewise_per_layer",
                           "gaps_none",
                           "gaps_none_per_layer",
                           "gaps_prefill",
                           "sample",
                           "sample_per_request",
                           "update",
                           "update_per_request",
                           "delivery",
                           "delivery_per_request",
                           "delivery_single"})
    EXPECT_TRUE(results("options.yaml", none, fmt::format("{{base: none, host: {{{}: 40ms}}}}", term).c_str()) !=
                free_of_charge)
        << term;
}

}  // namespace
}  // namespace dooly::e2e
