#pragma once

#include "replica_core/replica.hpp"

#include "oracle/fixed_oracle.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace dooly::test {

/// What happened to one request, seconds.
struct Fate {
  double scheduled_s = -1;
  std::uint32_t cached = 0;
  double first_engine_s = -1, first_client_s = -1;
  replica::Completion done;  ///< output 0: not finished
};

/// One replica alone with its requests: hand in, run to the end, look.
class Solo final : public replica::ReplicaObserver, public replica::IterationListener {
 public:
  struct Step {
    double decided_s = 0;
    std::uint32_t tokens = 0;
    std::vector<std::pair<replica::RequestTag, std::uint32_t>> given;  ///< running ones first, then the admitted
    std::vector<replica::RequestTag> preempted;
    std::uint64_t shared_tokens = 0, repeated_tokens = 0;  ///< as the oracle is told
  };

  Solo(const replica::EngineConfig& config, const oracle::FixedOracle& oracle, std::string_view policy = "vllm-v1");
  Solo(const replica::EngineConfig& config, const oracle::FixedOracle& oracle,
       std::unique_ptr<sdk::SchedulerPolicy> policy);

  /// Writes down every scheduling call; steps are then made one by one.
  void write_down_steps();
  /// In order of time; returns the request as it was submitted to alter it before run().
  replica::ReplicaRequest& at(double now_s, replica::RequestTag tag, std::uint32_t prompt, std::uint32_t output);
  /// Runs until nothing is left to do.
  void run();

  replica::Replica& replica() { return replica_; }
  const Fate& fate(replica::RequestTag tag) { return fates_[tag]; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<std::pair<double, std::uint64_t>>& gaps() const { return gaps_; }
  std::uint64_t gap_count() const;

 private:
  void scheduled(replica::RequestTag tag, double now_s, std::uint32_t cached) override;
  void first_token(replica::RequestTag tag, double engine_s, double client_s) override;
  void finished(const replica::Completion& done) override { fates_[done.tag].done = done; }
  void load_started(replica::RequestTag, std::uint32_t, std::uint32_t, double) override {}
  void token_gaps(std::uint16_t, double gap_s, std::uint64_t count) override { gaps_.emplace_back(gap_s, count); }
  void iteration(const replica::Batch&, double) override {}
  void decided(const replica::Batch& batch, double now_s) override;

  std::unique_ptr<sdk::SchedulerPolicy> policy_;
  oracle::FixedOracle oracle_;
  replica::Replica replica_;
  std::multimap<double, replica::ReplicaRequest> arrivals_;
  std::map<replica::RequestTag, Fate> fates_;
  std::vector<Step> steps_;
  std::vector<std::pair<double, std::uint64_t>> gaps_;
};

/// Synchronous, no prefix cache, blocks of 4 tokens, `usable` of them beside the null block.
replica::EngineConfig plain_config(std::uint32_t usable);

/// base + per_token × tokens milliseconds, no host times.
oracle::FixedOracle linear_ms(double base, double per_token);

}  // namespace dooly::test
