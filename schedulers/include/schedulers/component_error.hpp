#pragma once

#include <stdexcept>

namespace dooly::schedulers {

/// A policy, router, oracle or plug-in that cannot be had as asked: unknown name, bad options, a library that does not
/// load or does not fit. The message names it and lists what is there instead. Thrown before a simulation starts.
class ComponentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::schedulers
