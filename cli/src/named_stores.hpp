#pragma once

#include "oracle_store/record.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::cli {

/// What a user calls a store to read, as in scenarios: a directory, a file, or the name, or beginning of the names, of
/// portable files here, in DOOLY_PATH or among the shipped ones. Throws UsageError that lists what there is; `option`
/// is whose value `name` is, or empty.
std::vector<std::filesystem::path> named_stores(const std::string& name, const std::string& option = {});

/// How the help of verbs calls what named_stores() finds.
inline constexpr const char* kStoreHelp = "a directory, a portable file, or a shipped one's name";

/// Opens one store.
using StoreReader = std::function<std::unique_ptr<store::RecordStream>(const std::filesystem::path&)>;
/// Records of all stores called `name` as one; throws as named_stores() does, and UsageError where two of them
/// contradict each other.
std::unique_ptr<store::RecordStream> named_records(const std::string& name, const StoreReader& open,
                                                   const std::string& option = {});

}  // namespace dooly::cli
