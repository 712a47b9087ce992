#pragma once

#include "golden_log.hpp"

#include "oracle/fixed_oracle.hpp"
#include "replica_core/replica.hpp"

#include "dooly/sdk/policy.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dooly::golden {

/// Drives the production replica through a log's steps: feeds the inputs that cannot be derived (arrivals, aborts,
/// control, transfers) and derives the rest of every row.
class LogReplay final : private replica::ReplicaObserver {
 public:
  /// `cache` null: the one that production picks for the configuration.
  LogReplay(const GoldenLog& log, std::unique_ptr<replica::KvCache> cache);

  /// Makes the step that `row` describes and returns the row as this engine sees it.
  nlohmann::json step(const nlohmann::json& row);

 private:
  void scheduled(replica::RequestTag, double, std::uint32_t) override {}
  void first_token(replica::RequestTag, double, double) override {}
  void finished(const replica::Completion& completion) override { finished_.push_back(completion.tag); }
  void load_started(replica::RequestTag, std::uint32_t, std::uint32_t, double) override {}
  void token_gaps(std::uint16_t, double, std::uint64_t) override {}

  std::int64_t clock_us() const;
  void add_due(const nlohmann::json& row, std::int64_t now, nlohmann::json& out);
  void control(const nlohmann::json& event);
  void read_result(const nlohmann::json& row, nlohmann::json& out);
  void describe_call(nlohmann::json& out);
  void describe_state(nlohmann::json& out);

  const GoldenLog& log_;
  std::unique_ptr<sdk::SchedulerPolicy> policy_;
  oracle::FixedOracle oracle_;
  bool has_ids_;
  replica::Replica replica_;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t> due_;  ///< not added yet, by (at, id)
  std::map<std::uint32_t, std::size_t> by_id_;
  std::int64_t call_ = 0;                 ///< the log's number of the next call
  std::vector<std::int64_t> call_numbers_;  ///< of the engine's calls
  std::size_t results_ = 0;
  std::vector<std::uint32_t> finished_;
};

}  // namespace dooly::golden
