#pragma once

#include <stdexcept>

namespace dooly::import_ {

/// A profile cannot be read or written as asked: no such file, not of this format, or something that only the caller
/// can know is missing. Names the path, the line where there is one, and what is allowed.
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::import_
