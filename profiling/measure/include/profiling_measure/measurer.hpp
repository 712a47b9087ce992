#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

namespace dooly::profiling {

/// Runs one operator at one point on one device and says how long it takes. The seam between the sweep, which chooses
/// points, and the machine.
class Measurer {
 public:
  virtual ~Measurer() = default;
  /// Where the samples come from: GPU, driver, library versions.
  virtual oracle::Environment environment() = 0;
  /// Whether this machine has an implementation of the key's kind and family. If not, `why` says what is missing.
  virtual bool supports(const oracle::OperatorKey& key, std::string& why) = 0;
  /// Never throws for what the operator does: out of memory and failed launches are samples with that status and a
  /// note. A sticky device error does throw (DeviceLost): this process cannot measure any more.
  virtual oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                                 oracle::ClockRegime regime) = 0;
  /// What follows is measured in a new process: what one keeps for its life, as where code and data lie, is drawn
  /// anew. False: it cannot be.
  virtual bool renew() { return false; }
};

}  // namespace dooly::profiling
