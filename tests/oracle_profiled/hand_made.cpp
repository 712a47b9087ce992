#include "hand_made.hpp"

#include <algorithm>

namespace dooly::oracle::test {

void HandMadeSource::add(const OperatorKey& key, std::vector<Sample> samples) {
  sets_.push_back({key, signature_of(key), std::move(samples)});
}

std::vector<Sample> HandMadeSource::samples(const Signature& signature) const {
  for (const SampleSet& set : sets_)
    if (set.signature == signature) return set.samples;
  return {};
}

Sample sample(std::initializer_list<std::uint64_t> point, double seconds, ClockRegime regime) {
  Sample made;
  std::copy(point.begin(), point.end(), made.point.begin());
  made.regime = regime;
  made.count = 10;
  made.median_s = made.mean_s = seconds;
  return made;
}

Gpu slow_gpu() {
  Gpu gpu;
  gpu.name = "slow";
  gpu.memory_bandwidth = gpu.flops_16 = gpu.link_bandwidth = 1e9;
  return gpu;
}

Efficiency ideal() { return {1, 1, 1, 1, 0, 0, 0, 1}; }

PlanEntry entry(std::string name, OperatorKey key, Binding binding, std::uint32_t count) {
  PlanEntry made;
  made.name = std::move(name);
  made.signature = signature_of(key);
  made.key = std::move(key);
  made.binding = binding;
  made.count = count;
  return made;
}

BatchShape decodes(std::uint32_t count, std::uint64_t context) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = count;
  shape.decode_context = count * context;
  shape.decode_context_squares = count * context * context;
  return shape;
}

}  // namespace dooly::oracle::test
