#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dooly::workload {

/// SHA-256 (FIPS 180-4) in lower-case hex.
std::string sha256(std::string_view bytes);
/// Of a file's bytes as stored. Throws WorkloadError if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace dooly::workload
