#pragma once

#include <stdexcept>

namespace dooly::cli {

/// Wrong use of the program, or input that it refuses (exit status 2). The message begins with where: a file, a key, an
/// option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Work that was started and could not be finished (exit status 3).
class CannotFinish : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::cli
