#include "attention_times.hpp"

#include "oracle/efficiency.hpp"
#include "oracle_profiled/attention_point.hpp"

namespace dooly::import_ {

AttentionTimes::AttentionTimes(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples,
                               const oracle::Gpu& gpu)
    : model_(samples, oracle::attention_roofline(key, gpu, oracle::Efficiency{}), {}) {}

double AttentionTimes::seconds(const oracle::SamplePoint& point) const {
  return oracle::attention_at(model_, point).seconds;
}

}  // namespace dooly::import_
