#pragma once

#include <filesystem>

namespace dooly::cli {

/// Throws UsageError if `path`, a file to write, is a directory, or if it would be replaced without `force`. Devices
/// and pipes are not replaced.
void refuse_taken(const std::filesystem::path& path, bool force);

/// A directory for files to come, there or not; throws UsageError if it cannot be one. Before the work whose files they
/// are, so that a name that will not do costs nothing.
void make_directory(const std::filesystem::path& directory);

}  // namespace dooly::cli
