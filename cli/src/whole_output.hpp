#pragma once

#include <filesystem>
#include <functional>

namespace dooly::cli {

/// Leaves `fill` by an exception where a signal has asked the process to stop; to be called now and then.
using GoOn = std::function<void()>;

/// Calls `fill` with a directory to write to, which becomes `path` when it returns: whole or not at all, so that the
/// next attempt finds the name free. SIGINT, SIGTERM and SIGHUP end the process when the directory is gone; a second
/// one at once. Throws what `fill` throws and files::WholeDirectory; a file that could not be written is
/// files::WriteFailed of `path`, as the directory it was in is gone.
void write_whole_directory(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&, const GoOn&)>& fill);

}  // namespace dooly::cli
