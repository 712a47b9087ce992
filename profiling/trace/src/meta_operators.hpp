#pragma once

namespace dooly::profiling {

/// Registers, once, results' shapes of those operators of torch_operators.hpp that look into their inputs, and of those
/// of LibTorch that have none in C++, so that a pass on the device `meta` goes through.
void register_meta_operators();

}  // namespace dooly::profiling
