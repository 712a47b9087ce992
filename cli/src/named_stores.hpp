#pragma once

#include "oracle_store/record.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::cli {

/// What a user calls a store to read, as in scenarios: a directory, a file, or the beginning of the names of portable
/// files here, in DOOLY_PATH or among the shipped ones. Throws UsageError that lists what there is; `option` is whose
/// value `name` is, or empty.
std::vector<std::filesystem::path> named_stores(const std::string& name, const std::string& option = {});

/// How the help of verbs calls what named_stores() finds.
inline constexpr const char* kStoreHelp = "a directory, a portable file, or a shipped one's name";

/// Records that can be read from the start as often as needed.
using RecordOpener = std::function<std::unique_ptr<store::RecordStream>()>;
/// Of all stores called `name` as one, looked for when they are opened; it throws as named_stores() does, and
/// UsageError where two of them contradict each other.
RecordOpener opener_of(const std::string& name, const std::string& option = {});

}  // namespace dooly::cli
