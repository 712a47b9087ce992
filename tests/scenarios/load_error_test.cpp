#include "test_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace dooly::scenario {
namespace {

using test::errors;
using test::short_form;
using test::two_pools;
using Messages = std::vector<std::string>;

/// A workload in place of the short form's.
std::string with_workload(std::string_view workload) {
  return std::string("dooly: 1\nmodel: Qwen/Qwen3-8B\ngpu: H200-SXM\nworkload: ").append(workload).append("\n");
}
std::string synthetic(std::string_view arrivals, std::string_view prompt = "1",
                      std::string_view requests = "requests: 5, ") {
  return with_workload(std::string("{synthetic: {")
                           .append(requests)
                           .append("arrivals: ")
                           .append(arrivals)
                           .append(", prompt_tokens: ")
                           .append(prompt)
                           .append(", output_tokens: 1}}"));
}

TEST(LoadScenario, AllErrorsComeAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(
      errors(R"(dooly: 1
model: meta-llama/Llama-3.1-8B
gpu: H300
tp: 0
replcas: 2
workload:
  synthetic: {requests: ten, arrivals: {process: poison, rate: 20}, prompt_tokens: 1, output_tokens: 1}
)"),
      (Messages{
          "s.yaml:3:6: gpu: unknown GPU, got H300; allowed: H100-SXM, H200-SXM",
          "s.yaml:4:5: tp: must be a whole number from 1 to 1024, got 0",
          "s.yaml:5:1: replcas: unknown key, did you mean 'replicas'; allowed: dooly, name, seed, workload, cluster, "
          "pools, kv_transfer, platform, oracle, output, model, gpu, tp, replicas, engine, scheduler, router",
          "s.yaml:7:25: workload.synthetic.requests: must be a whole number from 1 to 9007199254740992, got ten",
          "s.yaml:7:50: workload.synthetic.arrivals.process: unknown value, did you mean 'poisson', got poison; "
          "allowed: poisson, gamma, constant, bursts, closed_loop, replay, at_once",
          "s.yaml:7:64: workload.synthetic.arrivals.rate: needs a unit, got 20; allowed: a number and one of /s, "
          "/min, /h, as in 20/s",
      }));
}

TEST(LoadScenario, SyntaxErrorsComeAlone) {
  EXPECT_EQ(errors("dooly: 1\ntp: [\n"), (Messages{"s.yaml:3:1: not valid YAML: end of sequence flow not found"}));
}

TEST(LoadScenario, AScenarioIsAMap) {
  EXPECT_EQ(errors("- 1\n"), (Messages{"s.yaml:1:1: a scenario must be a map, got a list"}));
  EXPECT_EQ(errors("hello\n"), (Messages{"s.yaml:1:1: a scenario must be a map, got hello"}));
}

TEST(LoadScenario, WhatIsMissingIsNamed) {
  EXPECT_EQ(errors("dooly: 1\n"), (Messages{
                                      "s.yaml:1:1: pools: is required; in the short form: model, gpu, tp, replicas",
                                      "s.yaml:1:1: cluster: is required; in the short form: gpu",
                                      "s.yaml:1:1: workload: is required",
                                  }));
  EXPECT_EQ(errors("dooly: 1\nworkload: {}\ngpu: H200-SXM\ntp: 1\n"),
            (Messages{
                "s.yaml:1:1: model: is required",
                "s.yaml:2:11: workload: one of these keys is required: trace, synthetic, sessions",
            }));
}

TEST(LoadScenario, TheVersionMustBeKnown) {
  EXPECT_EQ(errors(short_form("dooly: 1\n")), (Messages{"s.yaml:5:1: dooly: key given twice, first on line 1"}));
  std::string later = short_form();
  later.replace(0, 8, "dooly: 2");
  EXPECT_EQ(errors(later), (Messages{"s.yaml:1:8: dooly: this version of the program reads format 1 only, got 2"}));
}

TEST(LoadScenario, BareBooleansAreNoNames) {
  EXPECT_EQ(errors(short_form("name: off\nrouter: yes\n")),
            (Messages{
                "s.yaml:5:7: name: is a boolean to YAML where a name is wanted; quote it, got off",
                "s.yaml:6:9: router: is a boolean to YAML where a name is wanted; quote it, got yes",
            }));
  EXPECT_EQ(errors(short_form("name: 'off'\n")), Messages{});
  EXPECT_EQ(errors(short_form("engine: {async_scheduling: on}\n")),
            (Messages{"s.yaml:5:28: engine.async_scheduling: must be true or false, got on"}));
}

TEST(LoadScenario, NumbersAreWhatTheySayAndInRange) {
  EXPECT_EQ(
      errors(short_form("engine: {max_num_seqs: 1e3, block_size: 0x10, watermark: .nan, gpu_memory_utilization: 0}\n")),
      (Messages{
          "s.yaml:5:24: engine.max_num_seqs: must be a whole number from 1 to 1000000, got 1e3",
          "s.yaml:5:41: engine.block_size: must be a whole number from 1 to 1024, got 0x10",
          "s.yaml:5:58: engine.watermark: must be a number from 0 to 1, got .nan",
          "s.yaml:5:88: engine.gpu_memory_utilization: must be a number above 0 and at most 1, got 0",
      }));
  EXPECT_EQ(errors(short_form("seed: -1\nreplicas: '2'\n")),
            (Messages{
                "s.yaml:5:7: seed: must be a whole number from 0 to 9007199254740992, got -1",
                "s.yaml:6:11: replicas: must be a whole number from 1 to 1000000, got '2'",
            }));
}

TEST(LoadScenario, WhatIsNotBuiltYetIsRefusedByName) {
  EXPECT_EQ(errors(two_pools(", parallel: {tp: 1, pp: 2, dp: 2, ep: 2}")),
            (Messages{
                "s.yaml:5:80: pools.prefill.parallel.pp: not built yet in this version, got 2; allowed: 1",
                "s.yaml:5:87: pools.prefill.parallel.dp: not built yet in this version, got 2; allowed: 1",
            }));
  EXPECT_EQ(errors(short_form("output: {report: html, timeline: perfetto}\nfaults: [{at: 60s}]\nstudy: x\n")),
            (Messages{
                "s.yaml:5:18: output.report: not built yet in this version, got html; allowed: none",
                "s.yaml:5:34: output.timeline: not built yet in this version, got perfetto; allowed: none",
                "s.yaml:6:9: faults: not built yet in this version",
                "s.yaml:7:8: study: not built yet in this version",
            }));
  EXPECT_EQ(
      errors(two_pools() + "kv_transfer: {granularity: layer}\n"),
      (Messages{"s.yaml:7:28: kv_transfer.granularity: not built yet in this version, got layer; allowed: request"}));
  EXPECT_EQ(errors(short_form("faults: []\n")), Messages{});
}

TEST(LoadScenario, FabricsOfLaterVersions) {
  EXPECT_EQ(errors(R"(dooly: 1
model: Qwen/Qwen3-8B
cluster: {fabric: {topology: torus}, nodes: [{name: h, gpu: H200-SXM}]}
workload: {synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}}
)"),
            (Messages{"s.yaml:3:30: cluster.fabric.topology: not built yet in this version, got torus; allowed: star, "
                      "fat_tree"}));
}

TEST(LoadScenario, KeysOfAnotherVariantHaveNoMeaning) {
  EXPECT_EQ(
      errors(synthetic("{process: poisson, rate: 1/s, size: 3}")),
      (Messages{"s.yaml:4:83: workload.synthetic.arrivals.size: has no meaning with process: poisson; allowed: with "
                "bursts"}));
  EXPECT_EQ(errors(synthetic("{process: gamma, rate: 1/s}")),
            (Messages{"s.yaml:4:47: workload.synthetic.arrivals.cv: is required"}));
  EXPECT_EQ(
      errors(synthetic("{process: at_once}", "{fixed: 1, uniform: [1, 2]}")),
      (Messages{"s.yaml:4:93: workload.synthetic.prompt_tokens.uniform: cannot stand beside 'fixed'; allowed: exactly "
                "one of fixed, uniform, lognormal, zipf, empirical"}));
}

TEST(LoadScenario, DistributionsMustBePossible) {
  EXPECT_EQ(errors(synthetic("{process: at_once}", "{uniform: [5, 2]}")),
            (Messages{"s.yaml:4:92: workload.synthetic.prompt_tokens.uniform: must be [least, most], got [5, 2]"}));
  EXPECT_EQ(errors(synthetic("{process: at_once}", "{uniform: [5]}")),
            (Messages{"s.yaml:4:92: workload.synthetic.prompt_tokens.uniform: must have exactly 2 members, got 1"}));
  EXPECT_EQ(
      errors(synthetic("{process: at_once}", "{lognormal: {mean: 100, p99: 2000, max: 9000}}")),
      (Messages{"s.yaml:4:111: workload.synthetic.prompt_tokens.lognormal.p99: no lognormal law has this mean and 99th "
                "percentile: p99 / mean must be from 1 to 14.96, got 20"}));
  EXPECT_EQ(errors(synthetic("{process: at_once}", "{lognormal: {mean: 100, p99: 400, max: 10}}")),
            (Messages{"s.yaml:4:121: workload.synthetic.prompt_tokens.lognormal.max: must be at least the law's median "
                      "78.175, got 10"}));
  EXPECT_EQ(errors(synthetic("{process: at_once}", "{zipf: {exponent: 1, max: 100000000}}")),
            (Messages{"s.yaml:4:108: workload.synthetic.prompt_tokens.zipf.max: must be less than min + 4194304, got "
                      "100000000"}));
}

TEST(LoadScenario, SomethingMustEndTheArrivals) {
  EXPECT_EQ(errors(synthetic("{process: poisson, rate: 1/s}", "1", "")),
            (Messages{"s.yaml:4:23: workload.synthetic.requests: is required (or 'duration'): something must end the "
                      "arrivals"}));
  EXPECT_EQ(errors(synthetic("{process: at_once}", "1", "duration: 5s, ")),
            (Messages{"s.yaml:4:23: workload.synthetic.requests: is required with process: at_once"}));
  EXPECT_EQ(errors(synthetic("{process: replay, path: numbers.txt}", "1", "")), Messages{});
}

TEST(LoadScenario, FilesMustExist) {
  EXPECT_EQ(errors(with_workload("{trace: {format: azure, path: gone.csv}}")),
            (Messages{"s.yaml:4:41: workload.trace.path: no such file: gone.csv, got gone.csv"}));
  EXPECT_EQ(errors(with_workload("{trace: {format: azure, path: .}}")).size(), 1u);
  EXPECT_EQ(errors(with_workload("{trace: {format: azure, path: azure.csv}}")), Messages{});
  EXPECT_EQ(errors(short_form("scheduler: {plugin: libgone.so, policy: mine}\n")),
            (Messages{"s.yaml:5:21: scheduler.plugin: no such file: libgone.so, got libgone.so"}));
  EXPECT_EQ(errors("dooly: 1\nmodel: ./gone.json\n" + short_form().substr(40)),
            (Messages{"s.yaml:2:8: model: no such file: gone.json, got ./gone.json"}));
}

TEST(LoadScenario, AModelMayBeTheFolderOfItsConfig) {
  const auto with_model = [](const std::string& model) {
    return "dooly: 1\nmodel: " + model + "\n" + short_form().substr(40);
  };
  for (const char* model : {"./mine/Model-8B", "./mine/Model-8B/", "mine/Model-8B", "./mine/Model-8B/config.json"}) {
    const ModelSpec found = test::load(with_model(model)).pools.front().model;
    EXPECT_TRUE(found.is_path) << model;
    EXPECT_TRUE(found.config.ends_with("/mine/Model-8B/config.json")) << found.config;
  }
  EXPECT_EQ(errors(with_model("./mine")), (Messages{"s.yaml:2:8: model: folder mine has no config.json, got ./mine"}));
  EXPECT_EQ(errors(with_model("mine")), (Messages{"s.yaml:2:8: model: folder mine has no config.json, got mine"}));
  EXPECT_EQ(errors(with_model("null")).front().substr(0, 46), "s.yaml:2:8: model: must be text or a map, got ");
  EXPECT_EQ(errors(with_model("mine/Model-9B")).front().substr(0, 40), "s.yaml:2:8: model: unknown model (a path");
}

TEST(LoadScenario, TracesWithoutTimesNeedArrivals) {
  EXPECT_EQ(errors(with_workload("{trace: {format: sharegpt, path: azure.csv}}")),
            (Messages{"s.yaml:4:19: workload.trace.arrivals: is required: format sharegpt has no arrival times"}));
  EXPECT_EQ(errors(with_workload("{trace: {format: servegen, path: azure.csv}}")),
            (Messages{"s.yaml:4:19: workload.trace.lengths: is required"}));
  EXPECT_EQ(
      errors(with_workload("{trace: {format: azure, path: azure.csv, lengths: lengths.json}}")),
      (Messages{"s.yaml:4:61: workload.trace.lengths: has no meaning with format: azure; allowed: with servegen"}));
}

TEST(LoadScenario, ModelsPoliciesAndPlatformsMustBeKnown) {
  EXPECT_EQ(
      errors(short_form("scheduler: vlm-v1\nrouter: {policy: least_request}\nplatform: h100-vm\n")),
      (Messages{
          "s.yaml:5:12: scheduler: unknown policy, did you mean 'vllm-v1', got vlm-v1; allowed: static, vllm-v1",
          "s.yaml:6:18: router.policy: unknown router, did you mean 'least_requests', got least_request; allowed: "
          "least_requests, least_tokens, random, round_robin",
          "s.yaml:7:11: platform: unknown platform, did you mean 'h200-vm', got h100-vm; allowed: default, none, "
          "bare-metal, h200-vm",
      }));
  EXPECT_EQ(
      errors(short_form("platform: {host: {schedul: 1ms, update: 3}}\n")),
      (Messages{
          "s.yaml:5:28: platform.host.schedul: unknown host time, did you mean 'schedule', got schedul; allowed: "
          "schedule, update",
          "s.yaml:5:41: platform.host.update: needs a unit, got 3; allowed: a number and one of us, ms, s, m, h, d, as "
          "in 10ms",
      }));
}

TEST(LoadScenario, SomeHostTimesNeedABaseForTheOthers) {
  EXPECT_EQ(
      errors(short_form("platform: {host: {}}\n")),
      (Messages{"s.yaml:5:18: platform.host: must be a name, or a map of times, got an empty map; allowed: a name of "
                "`dooly list platforms`, or times such as {schedule: 120us}"}));
  EXPECT_EQ(
      errors(short_form("platform: {host: {schedule: 1ms}}\n")),
      (Messages{"s.yaml:5:18: platform.host: gives 1 of 2 host times and `base` does not say whose the others are; "
                "allowed: base: none (they are zero), default (the GPU's own) or a name of `dooly list platforms`"}));
  EXPECT_EQ(test::load(short_form("platform: {host: {schedule: 1ms, update: 0s}}\n")).platform.terms.size(), 2u);
  EXPECT_EQ(test::load(short_form("platform: {base: default, host: {schedule: 1ms}}\n")).platform.base, "default");
  EXPECT_EQ(errors(short_form("platform: {base: h100-vm, host: {schedule: 1ms}}\n")),
            (Messages{"s.yaml:5:18: platform.base: unknown platform, did you mean 'h200-vm', got h100-vm; allowed: "
                      "default, none, bare-metal, h200-vm"}));
  EXPECT_EQ(errors(short_form("platform: {base: none, host: h200-vm}\n")),
            (Messages{"s.yaml:5:18: platform.base: has no meaning unless `host` gives single times"}));
}

TEST(LoadScenario, PoolsMustFitTheirNodes) {
  EXPECT_EQ(
      errors(two_pools(", replicas: 20, parallel: {tp: 2}")),
      (Messages{"s.yaml:5:68: pools.prefill.replicas: the pool's nodes have room for 16 replicas of 2 GPUs, got 20"}));
  EXPECT_EQ(errors(two_pools(", parallel: {tp: 12}")),
            (Messages{"s.yaml:5:73: pools.prefill.parallel.tp: a replica larger than a node must fill whole nodes of 8 "
                      "GPUs, got 12"}));
  EXPECT_EQ(errors(two_pools(", nodes: g")),
            (Messages{"s.yaml:5:65: pools.prefill.nodes: no such node group, did you mean 'h', got g; allowed: h"}));
  EXPECT_EQ(errors(two_pools(", nodes: [h.0, h.4]")),
            (Messages{"s.yaml:5:71: pools.prefill.nodes.1: no such node, got h.4; allowed: h.0 to h.3"}));
}

TEST(LoadScenario, PrefillNeedsDecodeOfTheSameModel) {
  EXPECT_EQ(
      errors(two_pools("", ", model: meta-llama/Llama-3.1-8B, engine: {block_size: 32}")),
      (Messages{
          "s.yaml:6:56: pools.decode.model: must be as in pool 'prefill' (Qwen/Qwen3-8B), whose KV it takes over, got "
          "meta-llama/Meta-Llama-3.1-8B",
          "s.yaml:6:102: pools.decode.engine.block_size: must be as in pool 'prefill' (16), whose KV it takes over, "
          "got 32",
      }));
  EXPECT_EQ(errors(two_pools("", ", serves: batch")),
            (Messages{
                "s.yaml:6:57: pools.decode.serves: no request is of this class, got batch; allowed: default",
            }));
}

TEST(LoadScenario, OnePoolPerClass) {
  EXPECT_EQ(
      errors(R"(dooly: 1
workload: {synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}}
cluster: {nodes: [{name: h, gpu: H200-SXM}]}
pools:
  - {name: a, model: Qwen/Qwen3-8B}
  - {name: b, model: Qwen/Qwen3-8B}
  - {name: b, model: Qwen/Qwen3-8B, role: decode}
)"),
      (Messages{
          "s.yaml:6:5: pools.b: serves the same classes as pool 'a' does; several pools for one class are not built "
          "yet in this version",
          "s.yaml:7:12: pools.b.name: name used twice, first on line 6, got b",
          "s.yaml:7:43: pools.b.role: no pool of role prefill serves its classes, got decode",
      }));
}

TEST(LoadScenario, ClassesMustBeServedAndSlosMatchAClass) {
  EXPECT_EQ(errors(R"(dooly: 1
workload:
  - {name: chat, synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}, slo: {chta: {ttft: 1s}}}
  - {name: batch, synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}}
gpu: H200-SXM
pools:
  - {name: a, model: Qwen/Qwen3-8B, serves: chat}
)"),
            (Messages{
                "s.yaml:3:122: workload.chat.slo.chta: no request of this workload is of class 'chta'; allowed: chat",
                "s.yaml:4:5: workload.batch: no pool serves class 'batch'",
            }));
}

TEST(LoadScenario, SeveralWorkloadsNeedNames) {
  EXPECT_EQ(errors(with_workload("[{trace: {format: azure, path: azure.csv}}, {name: b, trace: {format: azure, path: "
                                 "azure.csv}}]")),
            (Messages{"s.yaml:4:12: workload.0.name: is required in a list of several"}));
}

TEST(LoadScenario, EngineArgumentsMustAgree) {
  EXPECT_EQ(errors(short_form("engine: {max_num_batched_tokens: 512, max_num_seqs: 1024}\n")),
            (Messages{"s.yaml:5:34: engine.max_num_batched_tokens: must be at least max_num_seqs (1024), got 512"}));
  EXPECT_EQ(errors(short_form("engine: {max_num_batched_tokens: 8, max_num_seqs: 4}\n")),
            (Messages{"s.yaml:5:34: engine.max_num_batched_tokens: must be at least block_size (16), got 8"}));
  EXPECT_EQ(
      errors(short_form("engine: {max_model_len: 16384, enable_chunked_prefill: false}\n")),
      (Messages{"s.yaml:5:9: engine.max_num_batched_tokens: must be at least max_model_len (16384) without chunked "
                "prefill, got 8192"}));
  EXPECT_EQ(errors(short_form("engine: {enable_chunked_prefill: false}\n")),
            (Messages{"s.yaml:5:9: engine.max_model_len: is required without chunked prefill: every prompt must fit "
                      "max_num_batched_tokens"}));
}

TEST(LoadScenario, CaptureSizesAscend) {
  EXPECT_EQ(errors(short_form("engine: {cudagraph-capture-sizes: [1, 4, 4]}\n")),
            (Messages{"s.yaml:5:42: engine.cudagraph_capture_sizes.2: must be larger than the size before it, got 4"}));
}

TEST(LoadScenario, ADefaultNumberOfRequestsGivesWayToASmallBudget) {
  EXPECT_EQ(test::load(short_form("engine: {max_num_batched_tokens: 512}\n")).pools[0].engine.max_num_seqs, 512u);
}

TEST(LoadScenario, AttentionBackendsAreNotBuiltYet) {
  EXPECT_EQ(errors(short_form("engine: {attention_backend: FLASHINFER}\n")),
            (Messages{"s.yaml:5:29: engine.attention_backend: not built yet in this version, got FLASHINFER; allowed: "
                      "default"}));
  EXPECT_TRUE(errors(short_form("engine: {attention_backend: default}\n")).empty());
}

std::string with_priority(std::string_view more) {
  std::string text = short_form(more);
  return text.insert(text.find("requests:"), "priority: 3, ");
}

TEST(LoadScenario, APriorityThatNobodyLooksAt) {
  EXPECT_EQ(errors(with_priority("")),
            (Messages{"s.yaml:4:34: workload.synthetic.priority: is not looked at: set scheduling_policy: priority for "
                      "the pool's engine (it is fcfs), got 3"}));
  EXPECT_TRUE(errors(with_priority("engine: {scheduling_policy: priority}\n")).empty());
  EXPECT_TRUE(errors(with_priority(""), {"workload.synthetic.priority=0"}).empty());
}

TEST(LoadScenario, SuggestsNamesByTheirParts) {
  std::string text = short_form("scheduler: vllm\n");
  text.replace(text.find("gpu: H200-SXM"), 13, "gpu: H200");
  text.replace(text.find("meta-llama/Llama-3.1-8B"), 23, "Meta-Llama-3.1-8B");
  const Messages messages = errors(text);
  ASSERT_EQ(messages.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const wanted[] = {"'meta-llama/Meta-Llama-3.1-8B'", "'H200-SXM'", "'vllm-v1'"};
    EXPECT_NE(messages[i].find("did you mean " + std::string(wanted[i])), std::string::npos) << messages[i];
  }
}

TEST(LoadScenario, AnEmptyFile) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("dooly-empty-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file).close();
  try {
    load_scenario(file, {}, {});
    ADD_FAILURE();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.what(), file.string() + ":1:1: is empty");
  }
  std::filesystem::remove(file);
}

TEST(LoadScenario, KvTransferNeedsAPrefillPool) {
  EXPECT_EQ(errors(short_form("kv_transfer: {first_token: prefill}\n")),
            (Messages{"s.yaml:5:14: kv_transfer: has no meaning without a pool of role prefill"}));
}

TEST(LoadScenario, OraclesBehindOneThatAnswersEverythingAreNeverAsked) {
  EXPECT_EQ(errors(short_form("oracle: [{kind: roofline}, {kind: fixed, base: 1ms}]\n")),
            (Messages{"s.yaml:5:28: oracle.1: is never asked: 'roofline' before it answers everything"}));
  EXPECT_EQ(errors(short_form("oracle: fixed\n")),
            (Messages{"s.yaml:5:9: oracle: an iteration would take no time; give 'base' or 'per_token'"}));
}

TEST(LoadScenario, ComponentsCheckTheirOwnOptions) {
  Names names = test::known_names();
  names.check_options = [](const Component& component) -> std::vector<OptionProblem> {
    if (component.kind != Component::Kind::kPolicy) return {};
    EXPECT_EQ(component.name, "static");
    EXPECT_EQ(component.options.at("alpha"), "0.3");
    return {{"alpha", "must be at least 1, got 0.3"}, {"beta", "is required"}};
  };
  try {
    parse_scenario(short_form("scheduler: {policy: static, options: {alpha: 0.3}}\n"), "s.yaml", {}, names);
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.messages(), (Messages{"s.yaml:5:38: scheduler.options.beta: is required",
                                          "s.yaml:5:46: scheduler.options.alpha: must be at least 1, got 0.3"}));
  }
}

TEST(LoadScenario, AMissingScenarioIsNamed) {
  try {
    load_scenario("/no/such/s.yaml", {}, {});
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_STREQ(error.what(), "/no/such/s.yaml: no such file");
  }
}

}  // namespace
}  // namespace dooly::scenario
