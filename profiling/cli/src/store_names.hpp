#pragma once

#include "oracle/operator_key.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace dooly::profiling {

/// Where `--store` fills a store: the directory of this name, there or not. Throws UsageError where there is none, but
/// the name means stores that are only read, as shipped ones.
std::filesystem::path store_to_fill(const std::string& name);

/// How many points each signature has whose measuring did not fail.
using MeasuredPoints = std::map<oracle::Signature, std::size_t>;
/// Signatures with samples, of all environments: in what `--store` names, a directory to fill or stores to read; none
/// in a store yet to be made. Throws UsageError.
MeasuredPoints measured_in_store(const std::string& name);
/// The same of a portable file, there or not.
MeasuredPoints measured_in_file(const std::filesystem::path& file);

}  // namespace dooly::profiling
