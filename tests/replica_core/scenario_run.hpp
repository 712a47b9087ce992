#pragma once

#include "random_scenario.hpp"

#include "replica_core/observer.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace dooly::test {

/// How a scenario is run; every way must give the same.
struct RunWay {
  enum class Cache : std::uint8_t {
    kRun,      ///< blocks without identity, steady decodes in bulk
    kRunWalk,  ///< the same cache, every request by itself
    kBlock     ///< with block ids
  };
  Cache cache = Cache::kRun;
  bool fast_forward = true;
  bool records = false;  ///< writes down every call's decisions and the state after every turn
};

/// One thing that the replica told its observer or answered its caller; doubles as their bits.
struct Note {
  enum class Kind : std::uint8_t { kScheduled, kFirstToken, kFinished, kLoadStarted, kGaps, kState };
  Kind kind = Kind::kState;
  std::uint32_t tag = 0;
  std::uint64_t a = 0, b = 0, c = 0;
  auto operator<=>(const Note&) const = default;
};
std::string to_string(const Note& note);

struct Transcript {
  std::vector<Note> notes;
  std::vector<std::size_t> turns;      ///< place in `notes` where each turn began
  std::vector<std::uint64_t> stats;    ///< every field of ReplicaStats
  std::vector<std::string> decisions;  ///< one text per scheduling call and state, if recorded
  bool ended = true;                   ///< false: given up after many turns
  std::uint64_t light_steps = 0;       ///< scheduling calls that were no turn

  /// Everything but gaps in order, then the gaps of each class in order: how an observer may rely on them.
  std::vector<Note> by_stream() const;
  /// The notes with the gaps of each turn sorted and merged, and in front: bulk and single reports look alike.
  std::vector<Note> merged() const;
};

/// Runs the scenario to its end. Throws std::logic_error if it stalls, if something is left over or does not balance,
/// or if a request is not reported exactly once.
Transcript run(const RandomScenario& scenario, RunWay way);

}  // namespace dooly::test
