#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/roofline_oracle.hpp"
#include "oracle/sample_set.hpp"
#include "oracle/step_plan.hpp"

#include <vector>

namespace dooly::oracle::test {

/// Samples in memory.
class HandMadeSource : public SampleSource {
 public:
  void add(const OperatorKey& key, std::vector<Sample> samples);
  std::vector<Sample> samples(const Signature& signature) const override;
  std::vector<SampleSet> sets() const override { return sets_; }
  std::string describe() const override { return "hand-made"; }

 private:
  std::vector<SampleSet> sets_;
};

Sample sample(std::initializer_list<std::uint64_t> point, double seconds, ClockRegime regime = ClockRegime::kCool);

/// 1 GB/s, 1 GFLOP/s at 16 bits, links of 1 GB/s.
Gpu slow_gpu();
/// All shares 1, no kernel or hop time.
Efficiency ideal();

PlanEntry entry(std::string name, OperatorKey key, Binding binding, std::uint32_t count = 1);

/// Batches.
BatchShape decodes(std::uint32_t count, std::uint64_t context);

}  // namespace dooly::oracle::test
