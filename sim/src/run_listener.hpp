#pragma once

#include "live_requests.hpp"
#include "results/decision_log.hpp"
#include "results/iteration_log.hpp"
#include "sim/simulation.hpp"

#include "replica_core/replica.hpp"

#include <cstdint>
#include <vector>

namespace dooly::sim {

/// Writes one replica's iterations and decisions as rows.
class RunListener final : public replica::IterationListener {
 public:
  RunListener(std::uint32_t pool, std::uint32_t number, replica::Replica& replica, LiveRequests& requests,
              const RunSinks& sinks)
      : pool_(pool),
        number_(number),
        replica_(replica),
        requests_(requests),
        sinks_(sinks) {
    if (sinks.decisions != nullptr) replica.engine().record(true);
    if (sinks.decisions != nullptr || sinks.iterations != nullptr) replica.listen(this);
  }

  void iteration(const replica::Batch& batch, double end_s) override;
  void decided(const replica::Batch& batch, double now_s) override;

 private:
  std::uint32_t pool_, number_;
  replica::Replica& replica_;
  LiveRequests& requests_;
  const RunSinks& sinks_;
  std::uint64_t iterations_ = 0;
  std::vector<results::ScheduledTokens> scheduled_;
  std::vector<std::uint64_t> admitted_, preempted_;
};

}  // namespace dooly::sim
