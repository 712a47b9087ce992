#include "profiling_sweep/sample_archive.hpp"

#include <algorithm>

namespace dooly::profiling {

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
