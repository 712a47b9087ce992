#pragma once

#include <filesystem>
#include <functional>

namespace dooly::cli {

/// Calls `fill` with a directory to write to, which becomes `path` when it returns: whole or not at all, so that the
/// next attempt finds the name free. Throws what `fill` throws and files::WholeDirectory; a file that could not be
/// written is files::WriteFailed of `path`, as the directory it was in is gone.
void write_whole_directory(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace dooly::cli
