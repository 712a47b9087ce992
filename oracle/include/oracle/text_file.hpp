#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace dooly::oracle {

/// Configurations, plans and the like are smaller by far.
constexpr std::uint64_t kLargestTextFile = std::uint64_t{64} << 20;

/// As std::fopen, but a pipe is not waited for: one that nobody writes to is empty.
std::FILE* open_for_reading(const std::filesystem::path& path);

/// All bytes of a file, a device or a pipe, opened as by open_for_reading().
/// Throws OracleError that begins with the path and says what is wrong: not there, a directory, or more than `limit`
/// bytes, which is how something without an end is found.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit = kLargestTextFile);

/// "64 MiB": a limit as messages name it.
std::string size_text(std::uint64_t bytes);

}  // namespace dooly::oracle
