#include "oracle/platform.hpp"

#include "oracle/kv_layout.hpp"
#include "oracle/model_config.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace dooly::oracle {

namespace {

struct Term {
  PlatformTerm shown;
  double& (*get)(Platform&);
};

#define DOOLY_TERM(key, member, meaning)                            \
  Term {                                                            \
    {key, meaning}, [](Platform& p) -> double& { return p.member; } \
  }

constexpr std::array kTerms{
    DOOLY_TERM("input", input, "a request from the client to the engine's input thread"),
    DOOLY_TERM("input_per_1000_tokens", input_per_1000_tokens, "the same, more for every 1,000 prompt tokens"),
    DOOLY_TERM("hashing_per_1000_tokens", hashing_per_1000_tokens,
               "hashing 1,000 prompt tokens' blocks in the input thread; requests queue for it"),
    DOOLY_TERM("turn", turn, "a turn of the loop besides: reading inputs, sending outputs"),
    DOOLY_TERM("schedule", schedule, "one call of the scheduler"),
    DOOLY_TERM("schedule_per_request", schedule_per_request, "the same, more for every request in the batch"),
    DOOLY_TERM("schedule_prefill", schedule_prefill, "the same, more where a part of a prompt is in the batch"),
    DOOLY_TERM("schedule_per_request_group", schedule_per_request_group,
               "the same for every request and KV group beyond the model's first"),
    DOOLY_TERM("schedule_per_prompt_group", schedule_per_prompt_group,
               "the same for every part of a prompt and KV group beyond the model's first"),
    DOOLY_TERM("launch_full", launch_full.fixed, "launching a step that is one CUDA graph"),
    DOOLY_TERM("launch_full_per_layer", launch_full.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("launch_full_per_moe_layer", launch_full.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("launch_full_per_root_request", launch_full.per_root_request,
               "the same, more times the root of the requests in the batch, of models without experts"),
    DOOLY_TERM("launch_full_per_root_moe_request", launch_full.per_root_moe_request, "the same of models with experts"),
    DOOLY_TERM("launch_full_after_prefill", launch_full_after_prefill,
               "the same, more where the step before had a part of a prompt"),
    DOOLY_TERM("launch_piecewise", launch_piecewise.fixed, "launching a step of graphs between attention calls"),
    DOOLY_TERM("launch_piecewise_per_layer", launch_piecewise.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("launch_piecewise_per_moe_layer", launch_piecewise.per_moe_layer,
               "the same, more for every layer of experts"),
    DOOLY_TERM("launch_piecewise_per_qk_norm", launch_piecewise.per_qk_norm,
               "the same, more for every dense layer that normalises queries and keys"),
    DOOLY_TERM("launch_none", launch_none.fixed, "launching a step kernel by kernel"),
    DOOLY_TERM("launch_none_per_layer", launch_none.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("launch_none_per_moe_layer", launch_none.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("launch_none_per_qk_norm", launch_none.per_qk_norm,
               "the same, more for every dense layer that normalises queries and keys"),
    DOOLY_TERM("launch_none_per_parallel_layer", launch_none.per_parallel_layer,
               "the same, more for every layer whose attention and MLP add to the same input"),
    DOOLY_TERM("launch_spread", launch_spread,
               "standard deviation of a launch that is not one CUDA graph, as a share of it"),
    DOOLY_TERM("lead_full", lead_full.fixed, "from the start of that launch to the first kernel (at most the launch)"),
    DOOLY_TERM("lead_full_per_layer", lead_full.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("lead_full_per_moe_layer", lead_full.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("lead_full_per_root_request", lead_full.per_root_request,
               "the same, more times the root of the requests in the batch, of models without experts"),
    DOOLY_TERM("lead_full_per_root_moe_request", lead_full.per_root_moe_request, "the same of models with experts"),
    DOOLY_TERM("lead_piecewise", lead_piecewise.fixed, "from the start of that launch to the first kernel"),
    DOOLY_TERM("lead_piecewise_per_layer", lead_piecewise.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("lead_piecewise_per_moe_layer", lead_piecewise.per_moe_layer,
               "the same, more for every layer of experts"),
    DOOLY_TERM("lead_none", lead_none.fixed, "from the start of that launch to the first kernel"),
    DOOLY_TERM("lead_none_per_layer", lead_none.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("lead_none_per_moe_layer", lead_none.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("gaps_full", gaps_full.fixed,
               "what the device waits between the kernels of a step that is one CUDA graph"),
    DOOLY_TERM("gaps_full_per_layer", gaps_full.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("gaps_full_per_moe_layer", gaps_full.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("gaps_piecewise", gaps_piecewise.fixed,
               "what the device waits between the kernels of a step of graphs between attention calls"),
    DOOLY_TERM("gaps_piecewise_per_layer", gaps_piecewise.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("gaps_piecewise_per_moe_layer", gaps_piecewise.per_moe_layer,
               "the same, more for every layer of experts"),
    DOOLY_TERM("gaps_none", gaps_none.fixed,
               "what the device waits between the kernels of a step launched kernel by kernel"),
    DOOLY_TERM("gaps_none_per_layer", gaps_none.per_layer, "the same, more for every dense layer"),
    DOOLY_TERM("gaps_none_per_moe_layer", gaps_none.per_moe_layer, "the same, more for every layer of experts"),
    DOOLY_TERM("gaps_prefill", gaps_prefill, "of any step, more where a part of a prompt is in the batch"),
    DOOLY_TERM("sample", sample, "launching the sampler"),
    DOOLY_TERM("sample_per_request", sample_per_request, "the same, more for every request in the batch"),
    DOOLY_TERM("sample_moe", sample_moe,
               "in place of `sample` for models with experts (0: `sample` holds for them, too)"),
    DOOLY_TERM("sample_moe_per_root_request", sample_moe_per_root_request,
               "the same, more times the root of the requests in the batch"),
    DOOLY_TERM("sample_prefill", sample_prefill, "the same, more where a part of a prompt is in the batch"),
    DOOLY_TERM("update", update, "processing a step's result"),
    DOOLY_TERM("update_per_request", update_per_request, "the same, more for every request in the batch"),
    DOOLY_TERM("update_prefill", update_prefill, "the same, more where a part of a prompt is in the batch"),
    DOOLY_TERM("delivery", delivery, "from the engine to the client, steps that yield two tokens or more"),
    DOOLY_TERM("delivery_per_request", delivery_per_request, "the same, more for every token the step yields"),
    DOOLY_TERM("delivery_single", delivery_single, "from the engine to the client, steps that yield one token"),
    DOOLY_TERM("clock_slowdown", clock.slowdown, "what a second of computing takes longer at the sustained clock"),
    DOOLY_TERM("clock_slowdown_memory", clock.slowdown_memory, "the same of operators that reading bounds"),
    DOOLY_TERM("clock_slowdown_decode_attention", clock.slowdown_decode_attention, "the same of attention of decodes"),
    DOOLY_TERM("clock_time_constant", clock.time_constant, "in which a device under load gets there (0: never)"),
    DOOLY_TERM("clock_cooling_time_constant", clock.cooling_time_constant, "in which it cools (0: as it warms)"),
    DOOLY_TERM("clock_power_computing", clock.power_computing,
               "drive to the sustained clock, by the share of time that the matrix units are busy (0: 1)"),
    DOOLY_TERM("clock_power_decode_attention", clock.power_decode_attention,
               "the same, by the share of time that decodes attend"),
    DOOLY_TERM("clock_power_free", clock.power_free, "the same, less what the power cap allows"),
    DOOLY_TERM("clock_profile_repeats", clock.profile_repeats,
               "how often in a row a profile's kernels ran while they were timed"),
};
#undef DOOLY_TERM

constexpr auto kShownTerms = [] {
  std::array<PlatformTerm, kTerms.size()> shown;
  for (std::size_t i = 0; i < kTerms.size(); ++i) shown[i] = kTerms[i].shown;
  return shown;
}();

const Term& find_term(std::string_view key) {
  std::string known;
  for (const Term& term : kTerms) {
    if (term.shown.key == key) return term;
    known += known.empty() ? "" : ", ";
    known += term.shown.key;
  }
  throw OracleError(fmt::format("unknown host time '{}'; known: {}", key, known));
}

/// As vLLM pools the layers of a model, by kind of attention: kv_cache_layout().
template <class Kind>
std::uint32_t groups_of(const std::map<Kind, std::uint32_t>& layers_by_kind) {
  std::vector<std::uint32_t> layers;
  for (const auto& [kind, count] : layers_by_kind) layers.push_back(count);
  return kv_group_count(layers);
}

constexpr double kMs = 1e-3;

/// vLLM 0.26 on a 16-core virtual machine with one H200, asynchronous scheduling. The launch of a pass that is not
/// fully captured grows with the layers: 10.6 ms for 32 dense ones and 15.0 for 48 of experts (piecewise), 30.0
/// and 89.9 (kernel by kernel), means; 32 dense ones with norms of queries and keys take 13.6 and 31.3. They scatter by
/// a fifth. Parallel layers (Command-R7B) take 34.9 kernel by kernel. A full graph takes 1.33 ms at one request,
/// 1.6 to 2.3 at 64 and 2.8 at 257 (`closed1`, `closed64`, `burst-conv`): by the root; with experts, which the engine
/// serves by its older model runner, 1.80 at one and 3.20 at 64, and its sampler 0.51 and 0.90. The scheduler takes
/// longer where it allocates for four groups of layers (Command-R7B's `closed64`). A full graph starts on the GPU at
/// the end of its launch, the first after a prompt 0.75 ms later than the third (41 such in the sweep). Without graphs
/// the GPU's time of steps bound by the launch is 2.5 ms shorter than it; with 48 layers of experts steps that find the
/// device idle take 3.9 ms longer than others of as many tokens
/// (`closed64`). A turn of the loop takes 0.1 ms besides. A step of one or two decodes takes 75 us longer on the GPU
/// than its operators: the preparation of the step and what graphs wait between kernels. The SM clock falls from 1,980
/// to 1,450 MHz in sustained prefill and to 1,600 with 256 decodes (power cap of 700 W); docs/predicting.md says where
/// the clock's terms come from.
Platform h200_vm() {
  Platform p;
  p.name = "h200-vm";
  p.input = 1.05 * kMs;
  p.input_per_1000_tokens = 0.06 * kMs;
  p.hashing_per_1000_tokens = 0.28 * kMs;
  p.turn = 0.1 * kMs;
  p.schedule = 0.08 * kMs;
  p.schedule_per_request = 0.016 * kMs;
  p.schedule_prefill = 0.21 * kMs;
  p.sample_prefill = 0.4 * kMs;
  p.update_prefill = 0.12 * kMs;
  p.update = 0.08 * kMs;
  p.update_per_request = 0.009 * kMs;
  p.schedule_per_request_group = 0.0033 * kMs;
  p.schedule_per_prompt_group = 0.116 * kMs;
  p.launch_full = {1.25 * kMs, 0, 0.35 / 48 * kMs};
  p.launch_full.per_root_request = 0.075 * kMs;
  p.launch_full.per_root_moe_request = 0.2 * kMs;
  p.launch_full_after_prefill = 0.75 * kMs;
  p.launch_piecewise = {0, 10.6 / 32 * kMs, 15.0 / 48 * kMs, 3.35 / 36 * kMs};
  p.launch_none = {0, 30.0 / 32 * kMs, 89.9 / 48 * kMs, 1.5 / 36 * kMs};
  p.launch_none.per_parallel_layer = 4.9 / 32 * kMs;
  p.launch_spread = 0.21;
  p.lead_full = p.launch_full;
  p.lead_piecewise = {2.5 * kMs, 0, 0};
  p.lead_none = {2.5 * kMs, 0, 1.4 / 48 * kMs};
  p.gaps_full = p.gaps_piecewise = p.gaps_none = {0.075 * kMs, 0, 0};
  p.sample = 1.1 * kMs;
  p.sample_per_request = 0.002 * kMs;
  p.sample_moe = 0.45 * kMs;
  p.sample_moe_per_root_request = 0.0566 * kMs;
  p.delivery = 1.2 * kMs;
  p.delivery_per_request = 0.034 * kMs;
  p.delivery_single = 1.0 * kMs;
  p.clock.slowdown = 0.145;
  p.clock.slowdown_memory = 0.03;
  p.clock.slowdown_decode_attention = 0.165;
  p.clock.time_constant = 0.033;
  p.clock.cooling_time_constant = 0.055;
  p.clock.power_computing = 2.0;
  p.clock.power_decode_attention = 1.02;
  p.clock.power_free = 0.53;
  p.clock.profile_repeats = 18;
  return p;
}

/// A fast host without a hypervisor: three tenths of every time of h200-vm. An estimate, not measured: it puts the
/// length below which an uncaptured prefill is bound by its launch at 300 to 400 tokens of an 8B model on an H200.
Platform bare_metal() {
  Platform p = h200_vm();
  const ClockTerms clock = p.clock;
  const double spread = p.launch_spread;
  const LaunchTerm gaps = p.gaps_full;  // of the device, in every mode
  for (const Term& term : kTerms) term.get(p) *= 0.3;
  p.gaps_full = p.gaps_piecewise = p.gaps_none = gaps;
  p.clock = clock;
  p.launch_spread = spread;
  p.name = "bare-metal";
  return p;
}

/// A server processor under one process a GPU. Ten million additions of a Python loop take 1.2 s on h200-vm and about
/// half a second on the server processors of 2022 and later: 0.42 of h200-vm's times. With tensor parallelism the
/// engine hands each step to the processes of its ranks and gets the result back through shared memory, once for the
/// forward pass and once for sampling, about a quarter of a millisecond each way round. Estimates, not measured.
Platform bare_metal_tp() {
  const Platform faster = bare_metal();
  Platform p = faster;
  for (const Term& term : kTerms) term.get(p) *= 0.42 / 0.3;
  p.clock = faster.clock;
  p.launch_spread = faster.launch_spread;
  p.gaps_full = p.gaps_piecewise = p.gaps_none = faster.gaps_full;
  p.schedule += 2 * 0.25 * kMs;
  p.name = "bare-metal-tp";
  return p;
}

/// The profiler's own engine, which runs no interpreter and serves nobody over a network; its device is a processor, so
/// a step starts when it has been handed over. Means of a small model's steps on a 2.9 GHz server processor.
Platform built_in_engine() {
  constexpr double kUs = 1e-6;
  Platform p;
  p.name = "built-in-engine";
  p.schedule = 3 * kUs;
  p.launch_none = {11 * kUs, 0, 0};
  p.lead_none = p.launch_none;
  p.update = 2 * kUs;
  return p;
}

constexpr std::array kShipped{
    ShippedPlatform{"bare-metal", "a fast host without a hypervisor (estimated, not measured)"},
    ShippedPlatform{"bare-metal-tp", "a server without a hypervisor, one process a GPU (estimated, not measured)"},
    ShippedPlatform{"built-in-engine", "the profiler's own engine on a processor (measured)"},
    ShippedPlatform{"h200-vm", "16-core virtual machine with an H200, vLLM 0.26 (measured)"},
    ShippedPlatform{"none", "the host takes no time"},
};

}  // namespace

std::span<const PlatformTerm> platform_terms() { return kShownTerms; }

void set_platform_term(Platform& platform, std::string_view key, double seconds) {
  const Term& term = find_term(key);
  if (!(seconds >= 0 && seconds < 1e6)) {
    throw OracleError(fmt::format("host time {}: must be at least 0 and finite, got {}", key, seconds));
  }
  term.get(platform) = seconds;
}

double platform_term(const Platform& platform, std::string_view key) {
  Platform copy = platform;
  return find_term(key).get(copy);
}

std::span<const ShippedPlatform> shipped_platforms() { return kShipped; }

Platform find_platform(std::string_view name) {
  if (name == "none") return {};
  if (name == "bare-metal") return bare_metal();
  if (name == "bare-metal-tp") return bare_metal_tp();
  if (name == "built-in-engine") return built_in_engine();
  if (name == "h200-vm") return h200_vm();
  throw OracleError(
      fmt::format("unknown platform '{}'; known: bare-metal, bare-metal-tp, built-in-engine, h200-vm, none", name));
}

std::string_view default_platform(std::string_view gpu_name) {
  if (gpu_name == "CPU") return "built-in-engine";
  return gpu_name == "H200-SXM" ? "h200-vm" : "bare-metal";
}

LayerCounts layer_counts(const ModelConfig& model) {
  LayerCounts layers;
  layers.moe = model.moe_layers();
  std::map<std::pair<AttentionKind, std::uint32_t>, std::uint32_t> by_attention;
  for (const LayerShape& layer : model.layers) {
    layers.dense += layer.moe ? 0 : layer.count;
    by_attention[{layer.attention.kind, layer.attention.window}] += layer.count;
  }
  if (model.qk_norm != ModelConfig::QkNorm::kNone) layers.dense_with_qk_norm = layers.dense;
  if (model.residual == ModelConfig::Residual::kParallel) layers.parallel = layers.dense + layers.moe;
  layers.kv_groups = groups_of(by_attention);
  return layers;
}

LayerCounts layer_counts(const StepPlan& plan) {
  LayerCounts layers{.dense = plan.dense_layers, .moe = plan.moe_layers};
  std::map<Signature, std::uint32_t> by_attention;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.key.kind == "qk_norm") layers.dense_with_qk_norm += entry.count;
    if (entry.key.kind == "add" && entry.key.attributes.contains("terms")) layers.parallel += entry.count;
    if (entry.key.kind == "attention") by_attention[entry.signature] += entry.count;
  }
  layers.dense_with_qk_norm = std::min(layers.dense_with_qk_norm, layers.dense);
  layers.kv_groups = groups_of(by_attention);
  return layers;
}

HostTimes::HostTimes(const Platform& platform, const LayerCounts& layers) : platform_(platform) {
  const double more_groups = layers.kv_groups - 1.0;
  schedule_per_request_ = platform.schedule_per_request + more_groups * platform.schedule_per_request_group;
  schedule_per_prompt_ = more_groups * platform.schedule_per_prompt_group;
  const bool as_moe = layers.moe > 0 && platform.sample_moe > 0;
  sample_ = as_moe ? platform.sample_moe : platform.sample;
  sample_per_request_ = as_moe ? 0 : platform.sample_per_request;
  sample_per_root_ = as_moe ? platform.sample_moe_per_root_request : 0;
  const auto bind = [&](GraphMode mode, const LaunchTerm& launch, const LaunchTerm& lead, const LaunchTerm& gaps) {
    const double seconds = launch.seconds(layers);
    launch_[static_cast<int>(mode)] = {
        seconds,
        std::min(seconds, lead.seconds(layers)),
        gaps.seconds(layers),
        mode == GraphMode::kFull ? 0 : platform.launch_spread * seconds,
        launch.root_request_seconds(layers),
        std::min(launch.root_request_seconds(layers), lead.root_request_seconds(layers))};
  };
  bind(GraphMode::kFull, platform.launch_full, platform.lead_full, platform.gaps_full);
  bind(GraphMode::kPiecewise, platform.launch_piecewise, platform.lead_piecewise, platform.gaps_piecewise);
  bind(GraphMode::kNone, platform.launch_none, platform.lead_none, platform.gaps_none);
}

RequestCost HostTimes::request(std::uint32_t prompt_tokens) const {
  const double thousands = prompt_tokens / 1000.0;
  return {platform_.input + platform_.input_per_1000_tokens * thousands, platform_.hashing_per_1000_tokens * thousands};
}

}  // namespace dooly::oracle
