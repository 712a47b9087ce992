#pragma once

#include "files/errors.hpp"

#include <stdexcept>

namespace dooly::results {

/// The output directory cannot be used; nothing was started (exit status 2).
class OutputRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using files::WriteFailed;

}  // namespace dooly::results
