#pragma once

#include "oracle_store/signature_store.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::cli {

/// What the samples of one operator in one environment are worth: how far a fit to the others misses each of them.
/// Empty `trouble`: `fit` holds.
struct SeriesFit {
  store::StoredFit fit;
  std::string trouble;  ///< why there is none
};
SeriesFit fit_of(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples, const std::string& gpu);

/// The stored one of a store directory if it is up to date, else computed.
SeriesFit fit_in(const store::SignatureStore* store, const std::string& environment_id, const oracle::OperatorKey& key,
                 const std::vector<oracle::Sample>& samples, const std::string& gpu);

struct FitCounts {
  std::uint64_t made = 0, kept = 0, none = 0;  ///< computed now, up to date already, of kinds or GPUs nobody can fit
  std::vector<double> errors;  ///< of each that has enough points to state one, in order of the store
};
/// Brings the fits of all series of a store up to date.
FitCounts store_fits(store::SignatureStore& store);

}  // namespace dooly::cli
