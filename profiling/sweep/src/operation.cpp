#include "profiling_sweep/operation.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/physical_limit.hpp"

#include <algorithm>
#include <array>

namespace dooly::profiling {

Operation operation_of(const oracle::OperatorKey& key, oracle::Binding binding, const std::string& name) {
  Operation operation;
  operation.name = name.empty() ? key.kind : name;
  operation.key = key;
  operation.signature = oracle::signature_of(key);
  operation.binding = binding;
  if (binding == oracle::Binding::kAttention || binding == oracle::Binding::kCollective) return operation;
  const auto one = oracle::physical_work(key, {1}), two = oracle::physical_work(key, {2});
  if (!one || !two) return operation;
  operation.flops_per_token = two->flops - one->flops;
  operation.bytes_per_token = two->bytes - one->bytes;
  operation.weight_bytes = one->bytes - operation.bytes_per_token;
  return operation;
}

SweepDevice device_of(const oracle::Environment& environment) {
  try {
    const oracle::Gpu& known = oracle::find_gpu(environment.gpu);
    return {known, !oracle::is_processor(known)};
  } catch (const oracle::OracleError&) {
    oracle::Gpu device;
    device.name = "unknown device";
    device.memory_bytes = 16e9;
    device.memory_bandwidth = 40e9;
    device.flops_16 = device.flops_8 = device.flops_32 = 1e12;
    device.link_bandwidth = 10e9;
    return {device, false};
  }
}

bool multiplies_matrices(const oracle::OperatorKey& key) {
  return key.kind == "linear" || key.kind == "moe_experts" || key.kind == "bmm";
}

bool launches_together(const oracle::OperatorKey& key) {
  constexpr std::array<std::string_view, 6> kTogether{"fa2", "fa3", "fa4", "triton", "torch", "flashinfer"};
  return key.kind == "attention" && std::find(kTogether.begin(), kTogether.end(), key.family) != kTogether.end();
}

}  // namespace dooly::profiling
