#pragma once

#include <stdexcept>

namespace dooly::results {

/// The output directory cannot be used; nothing was started (exit status 2).
class OutputRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A result file could not be written, by its path and the system's reason (exit status 3).
class WriteFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::results
