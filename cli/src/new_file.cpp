#include "new_file.hpp"

#include "cli_error.hpp"

#include <system_error>

namespace dooly::cli {

void refuse_taken(const std::filesystem::path& path, bool force) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (is_directory(there)) throw UsageError(path.string() + ": is a directory");
  if (is_regular_file(there) && !force) throw UsageError(path.string() + ": exists already; --force replaces it");
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error || !std::filesystem::is_directory(directory, error))
    throw UsageError(directory.string() + ": cannot be made a directory: " + (error ? error.message() : "a file"));
}

}  // namespace dooly::cli
