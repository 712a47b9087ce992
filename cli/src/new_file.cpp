#include "new_file.hpp"

#include "cli_error.hpp"

#include <system_error>

namespace dooly::cli {

void refuse_taken(const std::filesystem::path& path, bool force) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  const bool is_replaced = is_regular_file(there) || is_directory(there);
  if (is_replaced && !force) throw UsageError(path.string() + ": exists already; --force replaces it");
}

}  // namespace dooly::cli
