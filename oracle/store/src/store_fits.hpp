#pragma once

#include "oracle/operator_key.hpp"
#include "oracle_store/stored_fit.hpp"

#include <string>
#include <string_view>

namespace dooly::store {

/// Fits lie in the family `meta` under fit/ENVIRONMENT/SIGNATURE.
inline constexpr std::string_view kFitPrefix = "fit/";
std::string fit_key(const std::string& environment_id, const oracle::Signature& signature);
/// Throws StoreDamaged for anything that put_fit() does not write.
StoredFit parsed_fit(std::string_view key, std::string_view payload);

}  // namespace dooly::store
