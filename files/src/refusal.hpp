#pragma once

#include <filesystem>

namespace dooly::files {

/// Throws WriteFailed where the system's reason, an errno, is a full disk, else NameRefused.
[[noreturn]] void refuse(const std::filesystem::path& path, int error);

}  // namespace dooly::files
