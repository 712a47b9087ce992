#include "engine_under_test.hpp"

#include "dooly/sdk/testing/fake_engine.hpp"
#include "replica_core/engine.hpp"
#include "replica_core/kv_cache.hpp"

#include <deque>
#include <map>
#include <utility>

namespace dooly::test {
namespace {

class FakeUnderTest final : public EngineUnderTest {
 public:
  FakeUnderTest(const TestSettings& settings, sdk::SchedulerPolicy& policy)
      : engine_({.limits = settings.limits, .blocks = settings.blocks}),
        checked_(policy) {}

  void add(std::uint32_t number, const TestRequest& request) override {
    ids_[number] = engine_.add({.prompt = request.prompt,
                                .output = request.output,
                                .priority = request.priority,
                                .cached = request.shared_prefix,
                                .unknown_lookups = request.unknown_lookups});
    numbers_[ids_[number]] = number;
    checked_.something_changed();
  }
  void abort(std::uint32_t number) override {
    engine_.abort(ids_.at(number));
    checked_.something_changed();
  }
  std::uint32_t step(std::vector<std::uint32_t>& finished) override {
    const sdk::testing::FakeStep step = engine_.step(checked_);
    for (const sdk::RequestId id : step.finished) finished.push_back(numbers_.at(id));
    if (!step.finished.empty()) checked_.something_changed();
    return step.tokens;
  }
  bool is_idle() const override { return engine_.is_idle(); }
  std::uint32_t blocks_held() const override { return engine_.total_blocks() - engine_.free_blocks(); }
  CheckedPolicy& checked() override { return checked_; }

 private:
  sdk::testing::FakeEngine engine_;
  CheckedPolicy checked_;
  std::map<std::uint32_t, sdk::RequestId> ids_;
  std::map<sdk::RequestId, std::uint32_t> numbers_;
};

replica::EngineConfig config_of(const TestSettings& settings) {
  const sdk::Limits& limits = settings.limits;
  replica::EngineConfig config;
  config.max_num_batched_tokens = limits.max_num_batched_tokens;
  config.max_num_seqs = limits.max_num_seqs;
  config.max_model_len = limits.max_model_len;
  config.enable_chunked_prefill = limits.enable_chunked_prefill;
  config.long_prefill_token_threshold = limits.long_prefill_token_threshold;
  config.by_priority = limits.by_priority;
  config.reserve_full_prompt = limits.reserves_full_prompt;
  config.async_scheduling = settings.asynchronous;
  config.num_blocks = settings.blocks + 1;  // and the null block
  config.groups = {{.block_size = limits.block_size}};
  config.scheduler_block_size = limits.block_size;
  config.has_connector = settings.loads;
  config.defer_block_free = settings.loads && settings.asynchronous;
  return config;
}

/// The production engine, stepped as the replica steps it but without times.
class RealUnderTest final : public EngineUnderTest {
 public:
  RealUnderTest(const TestSettings& settings, sdk::SchedulerPolicy& policy)
      : checked_(policy),
        engine_(config_of(settings), checked_, replica::make_kv_cache(config_of(settings))) {}

  void add(std::uint32_t number, const TestRequest& request) override {
    replica::ReplicaRequest added{.tag = number,
                                  .prompt = request.prompt,
                                  .output = request.output,
                                  .priority = request.priority,
                                  .arrival_s = now_s_,
                                  .unique_key = number + 1,
                                  .content = {},
                                  .remote = {}};
    if (request.shared_prefix > 0) {
      content_.push_back({.key = 77, .end_token = request.shared_prefix});
      added.content = {&content_.back(), 1};
    }
    added.remote.unknown_lookups = request.unknown_lookups;
    if (request.loads) added.remote.load = replica::RemoteKv::Load::kPromptOnce;
    engine_.add(added);
    checked_.something_changed();
  }
  void abort(std::uint32_t number) override {
    engine_.abort(number);
    checked_.something_changed();
  }
  std::uint32_t step(std::vector<std::uint32_t>& finished) override {
    now_s_ += 1;
    finish_loads();
    std::uint32_t tokens = 0;
    if (engine_.has_requests()) {
      const replica::Batch& batch = engine_.schedule(now_s_);
      tokens = batch.tokens;
      for (const auto& load : engine_.loads_started()) loads_.emplace_back(load.tag, now_s_ + 3);
      const bool room = engine_.batches_in_flight() < engine_.config().depth();
      if (room && (tokens > 0 || engine_.has_requests())) return tokens;
    }
    if (engine_.batches_in_flight() > 0) read_result(finished);
    return tokens;
  }
  bool is_idle() const override { return engine_.is_empty(); }
  std::uint32_t blocks_held() const override {
    engine_.cache().check_balance();
    return engine_.config().num_blocks - 1 - engine_.cache().free_blocks();
  }
  CheckedPolicy& checked() override { return checked_; }

 private:
  void finish_loads() {
    while (!loads_.empty() && loads_.front().second <= now_s_) {
      engine_.load_finished(loads_.front().first);
      loads_.pop_front();
      checked_.something_changed();
    }
  }
  void read_result(std::vector<std::uint32_t>& finished) {
    for (const replica::ResultEvent& event : engine_.read_result(now_s_)) {
      if (!event.finished) continue;
      finished.push_back(event.tag);
      checked_.something_changed();
    }
  }

  CheckedPolicy checked_;
  replica::Engine engine_;
  std::deque<replica::ContentSegment> content_;
  std::deque<std::pair<replica::RequestTag, double>> loads_;
  double now_s_ = 0;
};

}  // namespace

std::unique_ptr<EngineUnderTest> make_fake_engine(const TestSettings& settings, sdk::SchedulerPolicy& policy) {
  return std::make_unique<FakeUnderTest>(settings, policy);
}
std::unique_ptr<EngineUnderTest> make_real_engine(const TestSettings& settings, sdk::SchedulerPolicy& policy) {
  return std::make_unique<RealUnderTest>(settings, policy);
}

}  // namespace dooly::test
