#include "profiling_sweep/sample_archive.hpp"

#include "oracle/kernel_families.hpp"

#include <algorithm>
#include <utility>

namespace dooly::profiling {

SamplesBySignature measured_in(SampleArchive& archive, const std::vector<Operation>& operations,
                               const oracle::Environment& machine) {
  std::map<std::string, SamplesBySignature> there;  // by environment
  SamplesBySignature found;
  for (const Operation& operation : operations) {
    const oracle::Environment environment = oracle::environment_of(operation.key, machine);
    const auto [here, is_new] = there.try_emplace(oracle::environment_id(environment));
    if (is_new) {
      archive.environment(environment);
      for (oracle::SampleSet& set : archive.measured()) here->second[set.signature] = std::move(set.samples);
    }
    if (const auto samples = here->second.find(operation.signature); samples != here->second.end())
      found.emplace(operation.signature, samples->second);
  }
  return found;
}

void MemoryArchive::sample(const oracle::OperatorKey& key, const oracle::Sample& sample) {
  const oracle::Signature signature = oracle::signature_of(key);
  auto& here = sets_[oracle::environment_id(environment_)];
  oracle::SampleSet& set = here.try_emplace(signature, oracle::SampleSet{key, signature, {}}).first->second;
  const auto same = std::find_if(set.samples.begin(), set.samples.end(), [&](const oracle::Sample& old) {
    return old.point == sample.point && old.regime == sample.regime;
  });
  if (same != set.samples.end()) {
    *same = sample;
  } else {
    set.samples.push_back(sample);
  }
}

std::vector<oracle::SampleSet> MemoryArchive::measured() const {
  std::vector<oracle::SampleSet> out;
  if (const auto here = sets_.find(oracle::environment_id(environment_)); here != sets_.end())
    for (const auto& [signature, set] : here->second) out.push_back(set);
  return out;
}

}  // namespace dooly::profiling
