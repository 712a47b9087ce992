#pragma once

#include <stdexcept>

namespace dooly::profiling {

/// Why a size has no honest origin: two candidates, an operator without a rule, a label that its own size contradicts.
class TaintError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::profiling
