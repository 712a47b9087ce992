#pragma once

#include "oracle/sample_set.hpp"

#include <algorithm>
#include <vector>

namespace dooly::oracle {

/// Whether a prediction may rest on it: neither failed nor suspect, and its figure is a time.
inline bool may_answer(const Sample& sample) {
  return sample.status == SampleStatus::kOk && sample.median_s > 0 && sample.median_s <= kLongestRunS;
}

/// Whether a source has any such sample of a signature.
inline bool has_answer(const SampleSource& source, const Signature& signature) {
  const std::vector<Sample> samples = source.samples(signature);
  return std::any_of(samples.begin(), samples.end(), may_answer);
}

}  // namespace dooly::oracle
