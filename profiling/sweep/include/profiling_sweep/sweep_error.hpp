#pragma once

#include <stdexcept>

namespace dooly::profiling {

/// What stops a whole sweep: no measuring process, no device.
class SweepError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::profiling
