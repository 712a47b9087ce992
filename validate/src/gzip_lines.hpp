#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dooly::validate {

/// Lines of a text file, plain or gzip. Throws MissingData if it is not there, ValidationError if it is damaged.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace dooly::validate
