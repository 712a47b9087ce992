#pragma once

#include "oracle/sample.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::store {

/// How well the samples of one operator in one environment predict each other, kept beside them: derived data, which a
/// portable file does not carry and anybody can compute again.
struct StoredFit {
  std::uint64_t points = 0;  ///< usable samples
  double fold_error = 0;     ///< mean relative error of points left out; 0: too few to tell
  std::uint32_t version = 0; ///< of the regressors (oracle::kFitVersion)
  std::string samples;       ///< series_digest() of what it was made from
  bool operator==(const StoredFit&) const = default;
};

/// SHA-256 over samples in their order: another one means that a stored fit is out of date.
std::string series_digest(const std::vector<oracle::Sample>& samples);

}  // namespace dooly::store
