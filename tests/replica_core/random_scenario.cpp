#include "random_scenario.hpp"

#include <algorithm>
#include <sstream>

namespace dooly::test {
namespace {

using replica::chain_key;
using replica::ContentSegment;

/// Draws the requests of one scenario. Lengths stay within what the cache and the model hold.
class WorkloadDraw {
 public:
  WorkloadDraw(Draw& draw, RandomScenario& scenario) : draw_(draw), scenario_(scenario) {
    const replica::EngineConfig& config = scenario.config;
    const std::uint32_t block = config.groups[0].block_size;
    // The last sampled token needs no block.
    longest_ = std::min(config.max_model_len, (config.num_blocks - 1) * block);
    if (!config.enable_chunked_prefill) longest_ = std::min(longest_, config.max_num_batched_tokens);
    most_outputs_ = draw.one_of({1U, 3U, 12U, 60U, 60U, 200U, 1500U});
    kind_ = draw.below(6);
    block_ = block;
    step_s_ = std::max(scenario.step.base, 1e-4);
  }

  void run() {
    const std::uint32_t count = draw_.between(1, most_outputs_ > 200 ? 12 : 40);
    const double gap_s = step_s_ * draw_.one_of({0.0, 0.3, 2.0, 10.0, 100.0});
    double at_s = 0;
    while (scenario_.requests.size() < count) {
      if (draw_.chance(70)) at_s += gap_s * draw_.fraction() * 2;
      if (draw_.chance(10)) at_s = step_s_ * static_cast<double>(draw_.below(200));  // on the grid of equal steps
      if (draw_.chance(3)) at_s += step_s_ * 500;                                    // idle for a while
      if (kind_ == 4 || (kind_ == 5 && draw_.chance(20))) {
        add_conversation(at_s);
      } else {
        add_single(at_s);
      }
    }
    const std::uint32_t probes = draw_.below(30);
    for (std::uint32_t i = 0; i < probes; ++i) scenario_.probes_s.push_back(at_s * 1.5 * draw_.fraction());
  }

 private:
  PlannedRequest& add(double at_s, std::uint32_t prompt) {
    PlannedRequest planned;
    replica::ReplicaRequest& request = planned.request;
    request.tag = static_cast<replica::RequestTag>(scenario_.requests.size());
    request.prompt = std::clamp(prompt, 1U, longest_ - 1);
    request.output = std::min(draw_.between(1, most_outputs_), longest_ - request.prompt);
    request.priority = static_cast<std::int32_t>(draw_.below(3));
    request.request_class = static_cast<std::uint16_t>(draw_.below(scenario_.classes));
    request.arrival_s = draw_.chance(50) ? at_s : static_cast<double>(draw_.below(4));
    request.sequence = request.tag;
    request.unique_key = chain_key(7, 0, request.tag, 1);
    planned.at_s = at_s;
    if (draw_.chance(4)) planned.abort_after_s = step_s_ * 40 * draw_.fraction();
    if (scenario_.config.has_connector) add_remote(planned);
    return scenario_.requests.emplace_back(std::move(planned));
  }

  void add_remote(PlannedRequest& planned) {
    planned.transfer_s = step_s_ * 10 * draw_.fraction();
    if (scenario_.config.defer_block_free || draw_.chance(50)) {
      if (draw_.chance(80)) planned.request.remote.load = replica::RemoteKv::Load::kPromptOnce;
    } else {
      planned.request.remote.hold_blocks = draw_.chance(80);
    }
  }

  std::uint32_t prompt_length() {
    const std::uint32_t most = std::min(longest_ - 1, draw_.one_of({8U, 40U, 200U, 700U}));
    const std::uint32_t length = draw_.between(1, std::max(most, 1U));
    return draw_.chance(30) ? std::max(length / block_, 1U) * block_ : length;
  }

  /// Shared stretches, chained; the request's own text follows.
  void share(PlannedRequest& planned, std::uint32_t levels, std::uint32_t branches) {
    std::uint64_t key = 0;
    std::uint32_t end = 0;
    for (std::uint32_t level = 0; level < levels && end < planned.request.prompt; ++level) {
      const std::uint32_t branch = draw_.below(branches);
      key = chain_key(key, end, 100 + level * 10 + branch, 0);
      std::uint32_t length = (branch * 7 + level * 5) % 4 * block_ + 1 + (branch * 13 + level) % (block_ + 3);
      if (draw_.chance(10)) length = draw_.between(1, length);
      end = std::min(end + length, planned.request.prompt);
      planned.content.push_back({key, end, false});
    }
    if (draw_.chance(30) && end < planned.request.prompt)
      planned.content.push_back({chain_key(key, end, 5000 + planned.request.tag, 0), ContentSegment::kOpenEnd, true});
  }

  void add_single(double at_s) {
    PlannedRequest& planned = add(at_s, prompt_length());
    switch (kind_) {
      case 0: break;  // nothing is shared
      case 1: share(planned, 1, 2); break;
      case 2: share(planned, 3, 2); break;
      default: {  // the same few prompts again and again
        const std::uint32_t which = draw_.below(3);
        const std::uint32_t length = std::min((which + 1) * block_ * (1 + which), longest_ - 1);
        planned.request.prompt = std::max(length, 1U);
        planned.request.output = std::min(planned.request.output, longest_ - planned.request.prompt);
        planned.content.push_back({chain_key(0, 0, 900 + which, 0), planned.request.prompt, false});
      }
    }
  }

  /// Turns that repeat everything before: own text, answer, own text, answer ...
  void add_conversation(double at_s) {
    const std::uint32_t turns = draw_.between(1, 4);
    const bool marks_history = draw_.chance(50);
    replica::ContentPath history;
    std::uint64_t key = 0;
    std::uint32_t length = 0;
    if (draw_.chance(30)) {
      key = chain_key(0, 0, 50, 0);
      length = std::min(block_ * 2 + 1, longest_ / 4);
      if (length > 0) history.push_back({key, length, false});
    }
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const std::uint32_t own = prompt_length() / 3 + 1;
      if (length + own + 2 > longest_) return;
      PlannedRequest& planned = add(at_s, length + own);
      const std::uint64_t number = planned.request.tag;
      const std::uint64_t text = chain_key(key, length, 10000 + number, 0);
      const std::uint64_t answer = chain_key(text, length + own, 20000 + number, 0);
      planned.content = history;
      planned.content.push_back({text, length + own, true});
      planned.content.push_back({answer, ContentSegment::kOpenEnd, true});
      if (turn > 0) {
        planned.at_s = -1;
        scenario_.requests[planned.request.tag - 1].next = planned.request.tag;
        scenario_.requests[planned.request.tag - 1].think_s =
            step_s_ * draw_.one_of({0.0, 1.0, 20.0}) * draw_.fraction();
      }
      key = answer;
      history.push_back({text, length + own, marks_history});
      length += own + planned.request.output;
      history.push_back({answer, length, marks_history});
    }
  }

  Draw& draw_;
  RandomScenario& scenario_;
  std::uint32_t longest_ = 0, most_outputs_ = 0, kind_ = 0, block_ = 0;
  double step_s_ = 0;
};

replica::EngineConfig draw_config(Draw& draw) {
  replica::EngineConfig config;
  config.max_num_batched_tokens = draw.one_of({16U, 64U, 64U, 256U, 1024U});
  config.max_num_seqs = draw.one_of({1U, 2U, 4U, 8U, 16U, 64U});
  config.max_model_len = draw.one_of({200U, 2000U, 4000U, 4000U});
  config.enable_chunked_prefill = draw.chance(85);
  if (draw.chance(15)) config.long_prefill_token_threshold = draw.between(1, 40);
  config.by_priority = draw.chance(25);
  config.reserve_full_prompt = draw.chance(70);
  config.async_scheduling = draw.chance(60);
  config.enable_prefix_caching = draw.chance(80);
  config.groups[0].block_size = config.scheduler_block_size = draw.one_of({1U, 2U, 4U, 8U, 16U, 16U, 32U});
  const std::uint32_t block = config.groups[0].block_size;
  config.num_blocks = 1 + std::max(3U, draw.one_of({60U, 150U, 400U, 1000U, 4000U, 20000U}) / block);
  if (draw.chance(20)) config.watermark_blocks = draw.between(1, std::max(1U, config.num_blocks / 10));
  if (draw.chance(15)) {
    config.has_connector = true;
    // By priority, a loaded request may hold the blocks that an urgent one ahead of it waits for: no way on in vLLM
    // either.
    config.by_priority = false;
    config.defer_block_free = config.async_scheduling && draw.chance(50);
  }
  return config;
}

void draw_times(Draw& draw, RandomScenario& scenario) {
  scenario.step.base = draw.one_of({0.01, 0.0078125, 0.0123});
  if (draw.chance(60)) scenario.step.per_token = 23.5e-6;
  if (draw.chance(60)) scenario.step.per_1000_context = 0.0294e-3;
  using Times = RandomScenario::Times;
  scenario.times =
      draw.one_of({Times::kStep, Times::kTwoRegimes, Times::kDecodeRuns, Times::kWarmRuns, Times::kRoofline});
  scenario.graph_sizes = draw.chance(50) ? oracle::CudaGraphs::default_sizes(64, 512) : std::vector<std::uint32_t>{};
  if (draw.chance(10)) {  // requests become ready at the very times at which equal steps end
    scenario.step = {.base = 0.0078125};
    scenario.times = Times::kStep;
    scenario.platform.input = 0.0078125 * draw.between(1, 6);
    return;
  }
  if (draw.chance(40)) return;  // no host times
  oracle::Platform& host = scenario.platform;
  const double scale = draw.one_of({0.2, 1.0, 1.0, 8.0});
  if (draw.chance(70)) host.schedule = 0.08e-3 * scale, host.schedule_per_request = 0.016e-3 * scale;
  if (draw.chance(70)) host.update = 0.09e-3 * scale, host.update_per_request = 0.009e-3 * scale;
  if (draw.chance(70)) host.sample = 1.2e-3 * scale;
  if (draw.chance(70))
    host.launch_full.fixed = 1.6e-3 * scale, host.launch_piecewise.fixed = 10e-3 * scale,
    host.launch_none.fixed = 29.5e-3 * scale;
  if (draw.chance(50))
    host.lead_full.fixed = 0.5e-3 * scale, host.lead_piecewise.fixed = 1e-3 * scale,
    host.lead_none.fixed = 2.5e-3 * scale;
  if (draw.chance(70))
    host.delivery = 1e-3 * scale, host.delivery_per_request = 0.028e-3 * scale, host.delivery_single = 0.7e-3 * scale;
  if (draw.chance(50)) host.input = 1.05e-3 * scale, host.input_per_1000_tokens = 0.06e-3 * scale;
  if (draw.chance(50)) host.hashing_per_1000_tokens = 0.28e-3 * scale;
  if (draw.chance(50)) host.turn = 0.1e-3 * scale;
  if (draw.chance(50)) host.launch_full_after_prefill = 2e-3 * scale;
}

}  // namespace

RandomScenario RandomScenario::draw(std::uint64_t seed) {
  Draw draw(seed * 0x9E3779B97F4A7C15ULL + 1);
  RandomScenario scenario;
  scenario.seed = seed;
  scenario.config = draw_config(draw);
  scenario.policy =
      draw.one_of<const char*>({"vllm-v1", "vllm-v1", "vllm-v1", "static", "capped", "by-hand", "random", "random"});
  if (scenario.policy == "by-hand") scenario.config.grant_output_lengths = true;
  scenario.classes = draw.chance(30) ? 3 : 1;
  draw_times(draw, scenario);
  WorkloadDraw(draw, scenario).run();
  return scenario;
}

std::string RandomScenario::describe() const {
  std::ostringstream out;
  out << "seed " << seed << ": " << policy << (config.async_scheduling ? " async" : " sync")
      << (config.by_priority ? " priority" : " fcfs") << ", budget " << config.max_num_batched_tokens << ", seqs "
      << config.max_num_seqs << ", len " << config.max_model_len << ", chunked " << config.enable_chunked_prefill
      << ", threshold " << config.long_prefill_token_threshold << ", reserve " << config.reserve_full_prompt
      << ", caching " << config.enable_prefix_caching << ", blocks " << config.num_blocks << " x "
      << config.groups[0].block_size << ", watermark " << config.watermark_blocks << ", connector "
      << config.has_connector << config.defer_block_free << ", classes " << classes << ", times "
      << static_cast<int>(times) << ", requests " << requests.size();
  return out.str();
}

}  // namespace dooly::test
