#pragma once

#include <filesystem>
#include <string>

namespace dooly::workload {

/// SHA-256 in lower-case hex of a file's bytes as stored. Throws WorkloadError if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace dooly::workload
