#include "store_coverage.hpp"

#include "oracle/usable_sample.hpp"

#include <algorithm>
#include <variant>

namespace dooly::cli {

StoreCoverage::StoreCoverage(store::RecordStream& records) {
  store::Record record;
  while (records.next(record)) {
    if (const auto* environment = std::get_if<store::EnvironmentRecord>(&record))
      gpus_.insert(environment->environment.gpu);
    const auto* sample = std::get_if<store::SampleRecord>(&record);
    if (sample != nullptr && oracle::may_answer(sample->sample)) samples_[sample->signature] += 1;
  }
}

std::uint64_t StoreCoverage::samples(const oracle::Signature& signature) const {
  const auto found = samples_.find(signature);
  return found == samples_.end() ? 0 : found->second;
}

std::uint64_t StoreCoverage::samples(const oracle::PlanEntry& entry) const {
  std::uint64_t count = samples(entry.signature);
  if (entry.key.family == "vllm-custom") {
    oracle::OperatorKey key = entry.key;
    key.family = "nccl";
    count += samples(oracle::signature_of(key));
  }
  return count;
}

std::string StoreCoverage::module_of(const oracle::StepPlan& plan, const oracle::PlanEntry& entry) const {
  for (const oracle::PlanModule& module : plan.modules) {
    const auto& names = module.replaces;
    if (std::find(names.begin(), names.end(), entry.name) != names.end() && samples(module.signature) > 0)
      return module.name;
  }
  return {};
}

}  // namespace dooly::cli
