#include "documentation.hpp"

#include <filesystem>
#include <system_error>

namespace dooly::cli {

std::string documentation(std::string_view page) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path found = program.parent_path().parent_path() / "share/doc/dooly/docs" / page;
  return fs::exists(found, error) ? found.string() : "docs/" + std::string(page) + " of Dooly's sources";
}

}  // namespace dooly::cli
