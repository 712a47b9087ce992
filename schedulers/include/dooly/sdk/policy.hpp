#pragma once

#include "dooly/sdk/plan.hpp"

#include <cstdint>

namespace dooly::sdk {

/// Decides which requests run in an iteration. One object serves one replica. Deterministic: equal views, equal
/// actions.
class SchedulerPolicy {
 public:
  static constexpr std::uint32_t kAlways = 0xFFFFFFFFU;

  virtual ~SchedulerPolicy() = default;
  /// One scheduling call of the engine.
  virtual void schedule(Plan& plan) = 0;
  /// For how many further iterations the same decision (schedule_running() and nothing else) holds while only decodes
  /// run, nobody arrives or finishes, no blocks come free or are lacking, and no pending look-up or load is answered.
  /// Asked right after schedule(). 0: ask every time.
  virtual std::uint32_t horizon(const Plan& plan) const {
    (void)plan;
    return 0;
  }
};

}  // namespace dooly::sdk
