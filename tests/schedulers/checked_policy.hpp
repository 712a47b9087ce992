#pragma once

#include "dooly/sdk/policy.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string_view>

namespace dooly::test {

/// Stands between an engine and a policy: checks the policy's actions against the rules of the plan without trusting
/// the engine's own checks, and adds up what happened. Reports each breach as a test failure.
class CheckedPolicy final : public sdk::SchedulerPolicy {
 public:
  explicit CheckedPolicy(sdk::SchedulerPolicy& policy) : policy_(policy) {}

  void schedule(sdk::Plan& plan) override;
  std::uint32_t horizon(const sdk::Plan& plan) const override { return policy_.horizon(plan); }

  /// Somebody arrived, finished or left: earlier promises of horizon() are void.
  void something_changed() { promised_ = 0; }

  std::uint64_t tokens() const { return tokens_; }            ///< scheduled by hand or at admission
  std::uint64_t preemptions() const { return preemptions_; }
  std::uint64_t admissions() const { return admissions_; }
  std::uint64_t digest() const { return digest_; }            ///< of every action in order
  std::uint64_t kept_promises() const { return kept_promises_; }

 private:
  class Watch;

  sdk::SchedulerPolicy& policy_;
  std::uint32_t promised_ = 0;
  std::uint32_t free_blocks_ = 0;  ///< at the end of the last call
  std::uint64_t tokens_ = 0, preemptions_ = 0, admissions_ = 0, kept_promises_ = 0;
  std::uint64_t digest_ = 14695981039346656037ULL;
};

}  // namespace dooly::test
