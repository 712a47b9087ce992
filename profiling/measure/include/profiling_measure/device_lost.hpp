#pragma once

#include <stdexcept>

namespace dooly::profiling {

/// The device answers every call with the same error from now on (an illegal address, a failed launch): only a new
/// process can measure on.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::profiling
