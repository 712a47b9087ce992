#pragma once

#include <stdexcept>

namespace dooly::oracle {

/// An oracle, model, GPU, platform or memory plan that cannot be had as asked; the message says what is wrong, with the
/// value found and what is allowed. Thrown before a simulation starts, except for answers that are no times
/// (`LatencyOracle::cost`).
class OracleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dooly::oracle
