#include "new_file.hpp"

#include "cli_error.hpp"

#include <unistd.h>

#include <system_error>

namespace dooly::cli {

void refuse_taken(const std::filesystem::path& path, bool force) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (is_directory(there)) throw UsageError(path.string() + ": is a directory");
  if (is_regular_file(there) && !force) throw UsageError(path.string() + ": exists already; --force replaces it");
}

DirectoryForFiles::DirectoryForFiles(const std::filesystem::path& directory) {
  std::error_code error;
  for (std::filesystem::path each = std::filesystem::absolute(directory).lexically_normal();
       !std::filesystem::exists(each, error) && each != each.parent_path(); each = each.parent_path())
    if (each.has_filename()) made_.push_back(each);
  std::filesystem::create_directories(directory, error);
  if (error || !std::filesystem::is_directory(directory, error))
    throw UsageError(directory.string() + ": cannot be made a directory: " + (error ? error.message() : "a file"));
}

DirectoryForFiles::~DirectoryForFiles() {
  for (const std::filesystem::path& each : made_)
    if (::rmdir(each.c_str()) != 0) return;  // fails, as it should, where there is something
}

}  // namespace dooly::cli
