#include "engine_log_checks.hpp"

#include "replica_core/engine.hpp"
#include "replica_core/kv_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace dooly::validate {
namespace {

using Decided = std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>;  ///< request: tokens, computed

/// Drives one engine by the log's clock.
class DecisionReplay {
 public:
  DecisionReplay(const EngineLog& log, const sim::PoolDeployment& pool, Comparison& comparison)
      : log_(log),
        comparison_(comparison),
        config_(config_of(log, pool)),
        policy_(pool.policy.make()),
        engine_(config_, *policy_, replica::make_kv_cache(config_)) {
    engine_.record(true);
    contents_.resize(log.requests.size());
    for (std::uint32_t i = 0; i < log.requests.size(); ++i) by_added_.push_back(i);
    std::stable_sort(by_added_.begin(), by_added_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return log.requests[a].added_s < log.requests[b].added_s;
    });
  }

  void run() {
    for (std::size_t i = 0; i < log_.iterations.size(); ++i) {
      const LoggedIteration& iteration = log_.iterations[i];
      read_results(i);
      add_requests(iteration.schedule_begin_s);
      if (!engine_.has_requests()) {
        differ("decisions.batches", i, "the replayed engine has no requests left");
        continue;
      }
      engine_.schedule(iteration.schedule_begin_s);
      compare(i, iteration);
    }
  }

 private:
  static replica::EngineConfig config_of(const EngineLog& log, const sim::PoolDeployment& pool) {
    replica::EngineConfig config = pool.engine;
    config.num_blocks = log.usable_blocks();
    config.async_scheduling = log.is_async;
    return config;
  }

  /// Of all iterations that had been updated when this one was scheduled.
  void read_results(std::size_t number) {
    const double now_s = log_.iterations[number].schedule_begin_s;
    while (read_ < number && log_.iterations[read_].update_end_s <= now_s) {
      if (engine_.batches_in_flight() > 0) engine_.read_result(log_.iterations[read_].update_end_s);
      ++read_;
    }
  }

  void add_requests(double now_s) {
    for (; added_ < by_added_.size() && log_.requests[by_added_[added_]].added_s <= now_s; ++added_) {
      const std::uint32_t place = by_added_[added_];
      const LoggedRequest& logged = log_.requests[place];
      if (logged.prefix_tokens > 0)
        contents_[place].push_back({.key = replica::chain_key(0, 0, logged.prefix_group, 0),
                                    .end_token = std::min(logged.prefix_tokens, logged.prompt)});
      engine_.add({.tag = place,
                   .prompt = logged.prompt,
                   .output = logged.output,
                   .sequence = added_,
                   .arrival_s = logged.added_s,
                   .unique_key = replica::chain_key(~std::uint64_t{0}, 0, place, 0),
                   .content = contents_[place],
                   .remote = {}});
    }
  }

  void compare(std::size_t number, const LoggedIteration& iteration) {
    const replica::CallRecord& call = engine_.last_call();
    Decided ours, logged;
    for (const auto& entry : call.running) ours[entry.tag] = {entry.tokens, entry.computed};
    for (const auto& entry : call.admitted) ours[entry.tag] = {entry.tokens, entry.computed};
    for (const LoggedEntry& entry : iteration.batch) logged[entry.request] = {entry.tokens, entry.computed};
    equal("decisions.batches", number, ours == logged, [&] { return describe(ours, logged); });
    equal("decisions.free_blocks", number, call.free_blocks == iteration.free_blocks,
          [&] { return fmt::format("{} instead of {}", call.free_blocks, iteration.free_blocks); });
    std::vector<std::uint32_t> lost;
    for (const auto& entry : call.preempted) lost.push_back(entry.tag);
    equal("decisions.preempted", number, lost == iteration.preempted,
          [&] { return fmt::format("{} requests instead of {}", lost.size(), iteration.preempted.size()); });
  }

  template <class Describe>
  void equal(const char* name, std::size_t number, bool is_equal, const Describe& describe) {
    ++comparison_.tally(name).compared;
    if (!is_equal) differ(name, number, describe());
  }

  void differ(const char* name, std::size_t number, const std::string& how) {
    Tally& tally = comparison_.tally(name);
    ++tally.different;
    if (tally.first_difference.empty()) tally.first_difference = fmt::format("iteration {}: {}", number, how);
  }

  std::string describe(const Decided& ours, const Decided& logged) const {
    for (const auto& [request, entry] : logged) {
      const auto found = ours.find(request);
      if (found == ours.end()) return fmt::format("{} is not in the batch", log_.requests[request].id);
      if (found->second != entry)
        return fmt::format("{} gets {} tokens on {} computed ones instead of {} on {}", log_.requests[request].id,
                           found->second.first, found->second.second, entry.first, entry.second);
    }
    for (const auto& [request, entry] : ours)
      if (!logged.contains(request)) return fmt::format("{} is in the batch as well", log_.requests[request].id);
    return "the same";
  }

  const EngineLog& log_;
  Comparison& comparison_;
  replica::EngineConfig config_;
  std::unique_ptr<sdk::SchedulerPolicy> policy_;
  replica::Engine engine_;
  std::vector<std::vector<replica::ContentSegment>> contents_;
  std::vector<std::uint32_t> by_added_;
  std::size_t added_ = 0, read_ = 0;
};

}  // namespace

void compare_decisions(const EngineLog& log, const sim::PoolDeployment& pool, Comparison& comparison) {
  DecisionReplay(log, pool, comparison).run();
}

}  // namespace dooly::validate
