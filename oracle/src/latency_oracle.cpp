#include "oracle/latency_oracle.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace dooly::oracle {

bool LatencyOracle::is_negative(const StepCost& answer) {
  const DeviceTime& device = answer.device;
  const HostTime& host = answer.host;
  return std::min({device.token_ops, device.attention, device.collective, device.other, device.gaps, host.schedule,
                   host.launch, host.launch_lead, host.launch_spread, host.sample, host.update, host.delivery,
                   host.turn, host.after_prefill}) < 0;
}

void LatencyOracle::reject(const StepCost& answer) {
  const DeviceTime& device = answer.device;
  const HostTime& host = answer.host;
  throw OracleError(fmt::format(
      "the oracle answered a time that is negative, not a number or absurd; device seconds: token_ops {}, "
      "attention {}, "
      "collective {}, other {}, gaps {}; host seconds: schedule {}, launch {}, launch_lead {}, sample {}, update "
      "{}, delivery {}",
      device.token_ops, device.attention, device.collective, device.other, device.gaps, host.schedule, host.launch,
      host.launch_lead, host.sample, host.update, host.delivery));
}

}  // namespace dooly::oracle
