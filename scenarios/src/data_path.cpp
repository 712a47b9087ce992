#include "scenarios/data_path.hpp"

#include <cstdlib>
#include <string_view>
#include <system_error>

namespace dooly::scenario {
namespace {

constexpr std::string_view kDataPrefix = "$DOOLY_DATA/";

std::filesystem::path data_directory(const std::filesystem::path& from) {
  if (const char* set = std::getenv("DOOLY_DATA"); set && *set) return std::filesystem::absolute(set);
  for (std::filesystem::path at = from; at.has_relative_path(); at = at.parent_path()) {
    std::error_code ignored;
    const std::filesystem::path candidate = at.parent_path() / "shared";
    if (std::filesystem::is_directory(candidate / "data", ignored)) return candidate;
  }
  return {};
}

}  // namespace

std::filesystem::path resolve_path(const std::string& text, const std::filesystem::path& base) {
  if (!text.starts_with(kDataPrefix)) return (base / text).lexically_normal();
  const std::filesystem::path data = data_directory(base);
  if (data.empty())
    throw std::string(
        "is of the public data (docs/data.md): neither does DOOLY_DATA name their directory, nor is there a "
        "shared/data "
        "beside or above this file");
  return (data / text.substr(kDataPrefix.size())).lexically_normal();
}

}  // namespace dooly::scenario
