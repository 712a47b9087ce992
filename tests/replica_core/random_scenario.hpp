#pragma once

#include "oracle/fixed_oracle.hpp"
#include "replica_core/engine_config.hpp"
#include "replica_core/replica_request.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dooly::test {

/// Draws that are the same with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  double fraction() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

/// A request of a scenario: what it is, when it comes, what follows it.
struct PlannedRequest {
  replica::ReplicaRequest request;  ///< tag = place in Scenario::requests; content is attached when it is submitted
  replica::ContentPath content;
  double at_s = 0;           ///< of the first turn of a conversation; a later one comes `think_s` after the answer
  std::int64_t next = -1;    ///< the conversation's next turn
  double think_s = 0;        ///< before that
  double abort_after_s = -1; ///< < 0: never
  double transfer_s = 0;     ///< of a remote load, and until held blocks are released
};

/// One replica's life: settings, times, requests. Everything fits: no request is longer than the model or the cache.
struct RandomScenario {
  std::uint64_t seed = 0;
  replica::EngineConfig config;
  std::string policy;  ///< name for make_test_policy()
  std::uint32_t classes = 1;
  oracle::FixedOracle::Linear step;
  oracle::Platform platform;
  std::vector<std::uint32_t> graph_sizes;
  enum class Times : std::uint8_t {
    kStep,        ///< from `step`
    kTwoRegimes,  ///< the same on a device that warms up
    kDecodeRuns,  ///< the same, decode steps answered many at a time
    kWarmRuns,    ///< both: runs, some shorter than asked, of mixed provenance, on a device that warms up
    kRoofline     ///< an 8B model on an H200
  };
  Times times = Times::kStep;
  std::vector<PlannedRequest> requests;
  std::vector<double> probes_s;  ///< the caller looks at the replica's state

  static RandomScenario draw(std::uint64_t seed);
  std::string describe() const;
};

}  // namespace dooly::test
