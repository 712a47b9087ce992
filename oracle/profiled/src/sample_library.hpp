#pragma once

#include "oracle/usable_sample.hpp"

#include <optional>
#include <vector>

namespace dooly::oracle {

/// One source, read as far as a plan needs: by signature at once, everything only if neighbours are asked for.
class SampleLibrary {
 public:
  explicit SampleLibrary(const SampleSource& source) : source_(&source) {}
  /// The usable samples of a signature; empty: none.
  std::vector<Sample> usable(const Signature& signature) const {
    std::vector<Sample> samples = source_->samples(signature);
    std::erase_if(samples, [](const Sample& sample) { return !may_answer(sample); });
    return samples;
  }
  const std::vector<SampleSet>& sets() {
    if (!sets_) sets_ = source_->sets();
    return *sets_;
  }

 private:
  const SampleSource* source_;
  std::optional<std::vector<SampleSet>> sets_;
};

}  // namespace dooly::oracle
