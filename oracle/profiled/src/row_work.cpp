#include "oracle_profiled/row_work.hpp"

#include <cmath>

namespace dooly::oracle {

double RowWork::weight_share(double rows) const {
  if (experts == 0) return 1;
  return active_expert_share(experts, experts_per_token, static_cast<std::uint32_t>(std::min(rows, 1e9)));
}

double RowWork::clock_factor(double rows, double slowdown, double slowdown_memory) const {
  const double computing = compute(rows);
  const double reading = memory(rows) + fixed;
  const double cool = std::max(computing, reading);
  return cool > 0 ? std::max(computing * slowdown, reading * slowdown_memory) / cool : 1;
}

RowWork row_work(const Gpu& gpu, const Efficiency& efficiency, DType compute, double flops_per_row, double weight_bytes,
                 double bytes_per_row) {
  const double bandwidth = gpu.memory_bandwidth * efficiency.memory;
  RowWork work;
  work.compute_per_row = flops_per_row / (peak_flops(gpu, compute) * efficiency.matrix);
  work.memory_per_row = bytes_per_row / bandwidth;
  work.memory_fixed = weight_bytes / bandwidth;
  work.fixed = efficiency.kernel_seconds;
  return work;
}

}  // namespace dooly::oracle
