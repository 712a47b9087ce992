#include "oracle_profiled/profiled_oracle.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>

namespace dooly::oracle {
namespace {

CompileSettings checked(CompileSettings settings, const Platform& platform) {
  if (settings.max_num_batched_tokens == 0 || settings.max_num_batched_tokens > (1u << 24))
    throw OracleError(
        fmt::format("max_num_batched_tokens: must be from 1 to {}, got {}", 1u << 24, settings.max_num_batched_tokens));
  if (settings.max_num_seqs == 0 || settings.max_num_seqs > (1u << 20))
    throw OracleError(fmt::format("max_num_seqs: must be from 1 to {}, got {}", 1u << 20, settings.max_num_seqs));
  settings.clock = platform.clock;
  return settings;
}

}  // namespace

ProfiledOracle::ProfiledOracle(const StepPlan& plan, std::span<const SampleSource* const> sources, const Gpu& gpu,
                               CompileSettings settings, const Platform& platform)
    : plan_(plan, sources, gpu, checked(std::move(settings), platform)),
      host_(platform, plan_.layers()) {
  if (platform.clock.time_constant > 0)
    clock_ = {1, platform.clock.time_constant, platform.clock.cooling_time_constant};
}

bool ProfiledOracle::decode_run(const BatchShape& first, std::span<double> device_s, DecodeRun& run) const {
  run = {};
  const GraphMode mode = plan_.graphs().mode(first);
  if (!plan_.decode_run(first, host_.gaps(mode, false), device_s, run)) return false;
  host_.step(first, mode, run.host);
  return true;
}

void ProfiledOracle::do_cost(const BatchShape& shape, DeviceState state, StepCost& answer) const {
  const GraphMode mode = plan_.graphs().mode(shape);
  answer.device.gaps = shape.empty() ? 0 : host_.gaps(mode, !shape.prefills.empty());
  plan_.cost(shape, state, answer);
  host_.step(shape, mode, answer.host);
}

}  // namespace dooly::oracle
