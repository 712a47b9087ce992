// What `dooly explain` says beside a pool.
#include "oracle/weights.hpp"
#include "oracle_profiled/profiled_oracle.hpp"
#include "sim/deployment.hpp"

#include <fmt/format.h>

namespace dooly::sim {
namespace {

std::string answered_by(const oracle::OperatorAnswer& answer) {
  if (answer.source < 0) return "roofline";
  const char* by = answer.best == oracle::Origin::kMeasured ? "its own samples" : "neighbours";
  return fmt::format("{}, {} points, {:.1f} % off where points are left out{}{}", by, answer.points,
                     100 * answer.fold_error, answer.note.empty() ? "" : "; ", answer.note);
}

/// Of attention, by which kernels: those that were measured may be others than the engine's own choice.
std::string family_of(const oracle::OperatorAnswer& answer) {
  return answer.binding == oracle::Binding::kAttention ? fmt::format(" by {}", answer.key.family) : std::string();
}

}  // namespace

std::vector<std::string> Deployment::notes(std::size_t index) const {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const PoolDeployment& pool = pools[index];
  std::vector<std::string> lines;
  lines.push_back(fmt::format("model {}: {:.2f} G parameters, {:.2f} GiB of weights on each GPU", pool.model.name,
                              static_cast<double>(oracle::parameter_count(pool.model)) / 1e9,
                              static_cast<double>(pool.weight_bytes_per_gpu) / kGiB));
  if (pool.memory) {
    for (const oracle::MemoryPlan::Line& line : pool.memory->lines)
      lines.push_back(fmt::format("  {:>+10.2f} GiB  {}{}{}", line.bytes / kGiB, line.what,
                                  line.note.empty() ? "" : ": ", line.note));
    lines.push_back(
        fmt::format("  = {:.2f} GiB of KV cache in blocks of {:.3f} MiB: {} blocks", pool.memory->kv_bytes / kGiB,
                    static_cast<double>(pool.memory->layout.block_bytes) / (1024.0 * 1024), pool.memory->blocks));
  } else {
    lines.push_back(fmt::format("  {} KV blocks, as given", pool.engine.num_blocks));
  }
  lines.push_back(fmt::format("{} usable KV blocks (one is the placeholder), max_model_len {}",
                              pool.engine.num_blocks - 1, pool.engine.max_model_len));
  const auto step = [&](std::uint32_t decodes, std::uint32_t context, std::uint32_t prompt) {
    const oracle::PrefillChunk chunk{prompt, 0};
    oracle::BatchShape shape;
    shape.decodes = decodes;
    shape.decode_context = std::uint64_t{decodes} * context;
    shape.decode_context_squares = shape.decode_context * context;
    shape.decode_context_cubes = shape.decode_context_squares * context;
    shape.decode_longest = decodes > 0 ? context : 0;
    shape.logits_rows = decodes + (prompt > 0 ? 1 : 0);
    shape.prefill_tokens = prompt;
    if (prompt > 0) shape.prefills = {&chunk, 1};
    const oracle::StepCost cost = pool.oracle->cost(shape, {});
    return fmt::format("{:.2f} ms on the device, {:.2f} ms to schedule and launch", cost.device.total() * 1e3,
                       (cost.host.until_launch() + cost.host.launch + cost.host.sample) * 1e3);
  };
  lines.push_back(
      fmt::format("oracle {}: a step of 1 decode at 1,024 tokens takes {}", pool.oracle->name(), step(1, 1024, 0)));
  lines.push_back(fmt::format("  64 decodes at 1,024: {}", step(64, 1024, 0)));
  lines.push_back(fmt::format("  a prompt of 2,048: {}", step(0, 0, 2048)));
  if (const auto* profiled = dynamic_cast<const oracle::ProfiledOracle*>(pool.oracle.get())) {
    lines.push_back("who answers:");
    for (const oracle::OperatorAnswer& each : profiled->plan().operators())
      lines.push_back(fmt::format("  {}{} x{}: {}", each.name, family_of(each), each.count, answered_by(each)));
  }
  lines.push_back(fmt::format("platform {} (host times)", pool.platform.name));
  return lines;
}

}  // namespace dooly::sim
