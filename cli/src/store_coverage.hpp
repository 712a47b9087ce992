#pragma once

#include "oracle/step_plan.hpp"
#include "oracle_store/record.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace dooly::cli {

/// How many usable samples a store holds of each operation, in all its environments.
class StoreCoverage {
 public:
  /// Reads all records. Throws store::StoreError.
  explicit StoreCoverage(store::RecordStream& records);

  std::uint64_t samples(const oracle::Signature& signature) const;
  /// Names of all environments' GPUs, sorted.
  const std::set<std::string>& gpus() const { return gpus_; }
  /// Those of the entry; for an all-reduce with kernels of the engine's own also those by NCCL, which takes the larger
  /// messages.
  std::uint64_t samples(const oracle::PlanEntry& entry) const;
  /// The module of the plan that covers `entry` and was measured, or empty.
  std::string module_of(const oracle::StepPlan& plan, const oracle::PlanEntry& entry) const;

 private:
  std::map<oracle::Signature, std::uint64_t> samples_;
  std::set<std::string> gpus_;
};

}  // namespace dooly::cli
