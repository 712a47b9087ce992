#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/attention_model.hpp"

#include <vector>

namespace dooly::import_ {

/// Times of attention of batches that nobody measured, as `dooly predict` answers them.
class AttentionTimes {
 public:
  AttentionTimes(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples, const oracle::Gpu& gpu);
  double seconds(const oracle::SamplePoint& point) const;

 private:
  oracle::AttentionModel model_;
};

}  // namespace dooly::import_
