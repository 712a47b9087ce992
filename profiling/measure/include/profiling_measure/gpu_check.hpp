#pragma once

#include <string>

namespace dooly::profiling {

/// Why no NVIDIA GPU can be used here, in words; empty: one can. Asks the driver (libcuda.so.1, found while running) in
/// a process of its own, so that this one stays free of CUDA and may fork. Call it before threads are started.
std::string why_no_gpu();

}  // namespace dooly::profiling
