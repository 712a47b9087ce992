#pragma once

#include "profiling_trace/signing.hpp"

#include <string>
#include <vector>

namespace dooly::profiling {

/// Whether keys have all that decides how their operators run. Two operations of one signature in a timed pass whose
/// calls were told something else (a number, a flag, a text, an element type; no request's sizes) and which ran other
/// kernels, or one a quarter longer than the other: the key forgot that argument. A line for each, naming the argument,
/// both values and both modules. What nobody timed (no kernels, no seconds) is not judged.
std::vector<std::string> forgotten_attributes(const Trace& trace, const SignedTrace& keys);

}  // namespace dooly::profiling
