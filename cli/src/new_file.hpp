#pragma once

#include <filesystem>

namespace dooly::cli {

/// Throws UsageError if writing to `path` would replace something, unless `force`. Devices and pipes are not replaced.
void refuse_taken(const std::filesystem::path& path, bool force);

}  // namespace dooly::cli
