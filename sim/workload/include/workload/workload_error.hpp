#pragma once

#include <stdexcept>
#include <string>

namespace dooly::workload {

/// A workload that cannot be made: `FILE:LINE: row N: field: what is wrong, got VALUE`, or `WORKLOAD: what is wrong`.
class WorkloadError : public std::runtime_error {
 public:
  explicit WorkloadError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace dooly::workload
