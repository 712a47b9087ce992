#pragma once

#include <stdexcept>

namespace dooly::files {

/// A file cannot be written under this name; nothing was (exit status 2). Begins with the path.
class NameRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file could not be written to its end, by its path and the system's reason (exit status 3).
class WriteFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::files
