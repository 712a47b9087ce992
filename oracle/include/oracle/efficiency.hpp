#pragma once

namespace dooly::oracle {

/// Shares of the peaks that are the same for all devices, models and sizes; rough, not fitted to any measurement. What
/// links take comes of them, measured times are interpolated along them, and operators of processors; operators of GPUs
/// take what KernelTimes has fitted.
struct Efficiency {
  double memory = 0.80;  ///< of the memory bandwidth
  double matrix = 0.70;  ///< of the peak FLOP/s, matrix products
  double attention = 0.55;  ///< of the peak FLOP/s, attention over long prompts
  double link = 0.75;  ///< of the link bandwidth, collectives
  double kernel_seconds = 2e-6;  ///< start and tail of one kernel inside a graph
  double one_shot_seconds = 5e-6;  ///< all-reduce in which every GPU reads all others' data at once
  double ring_hop_seconds = 1.5e-6;  ///< one of the 2 (n − 1) hops of a ring over NVLink
  double pcie_factor = 4;  ///< latencies above times this without NVLink
};

}  // namespace dooly::oracle
