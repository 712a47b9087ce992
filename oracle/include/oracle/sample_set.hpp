#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <string>
#include <vector>

namespace dooly::oracle {

/// Takes measured or imported samples: a store here, a portable file on a machine without one.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  virtual void environment(const Environment& environment) = 0;  ///< of all samples that follow
  virtual void sample(const OperatorKey& key, const Sample& sample) = 0;
};

/// All samples of one signature in one environment.
struct SampleSet {
  OperatorKey key;
  Signature signature;
  std::vector<Sample> samples;
};

/// Where predictions get their samples from: a store directory, a portable file, several merged.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// Empty: never measured.
  virtual std::vector<Sample> samples(const Signature& signature) const = 0;
  virtual std::vector<SampleSet> sets() const = 0;  ///< all of them, by signature
  virtual std::string describe() const = 0;         ///< for reports: environments and where from
};

}  // namespace dooly::oracle
