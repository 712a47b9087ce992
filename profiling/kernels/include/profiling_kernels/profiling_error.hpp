#pragma once

#include <stdexcept>

namespace dooly::profiling {

/// What stops a profile and can be mended by its user: a missing library, a model that cannot be built, an operator
/// without a rule.
class ProfilingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::profiling
