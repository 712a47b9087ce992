#pragma once

#include "oracle/operator_key.hpp"

#include <filesystem>
#include <set>
#include <string>

namespace dooly::profiling {

/// Where `--store` fills a store: the directory of this name, there or not. Throws UsageError where there is none, but
/// the name means stores that are only read, as shipped ones.
std::filesystem::path store_to_fill(const std::string& name);

/// Signatures with samples, of all environments: in what `--store` names, a directory to fill or stores to read; none
/// in a store yet to be made. Throws UsageError.
std::set<oracle::Signature> measured_in_store(const std::string& name);
/// The same of a portable file, there or not.
std::set<oracle::Signature> measured_in_file(const std::filesystem::path& file);

}  // namespace dooly::profiling
