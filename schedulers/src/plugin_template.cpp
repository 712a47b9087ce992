#include "schedulers/plugin_template.hpp"

#include "files/errors.hpp"
#include "files/whole_file.hpp"
#include "names.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/component_error.hpp"
#include "template_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace dooly::schedulers {
namespace {

namespace fs = std::filesystem;

/// `kind`: policy or router; `builtin`: the entries that have their names already.
template <class Entries>
void check_name(std::string_view name, const std::string& kind, const Entries& builtin) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_legal = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (name.empty() || name.size() > 64 || !is_lower(name.front()) || !std::all_of(name.begin(), name.end(), is_legal)) {
    throw ComponentError(
        kind + " name: must be a lower-case letter, then up to 63 lower-case letters, digits, '-' or '_', got '" +
        std::string(name) + "'");
  }
  for (const auto& entry : builtin) {
    if (name == entry.name) throw ComponentError(kind + " name: '" + std::string(name) + "' is a built-in " + kind);
  }
}

/// "my-policy2" -> "MyPolicy2", with "Policy" or "Router" behind.
std::string class_name(std::string_view name, std::string_view kind) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '-' || c == '_') {
      upper = true;
    } else {
      text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return text.append(kind);
}

/// "my-policy2" -> "my_policy2".
std::string identifier(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string filled(std::string_view text, std::string_view name, std::string_view kind) {
  const std::pair<std::string_view, std::string> values[] = {
      {"{{name}}", std::string(name)}, {"{{Class}}", class_name(name, kind)}, {"{{identifier}}", identifier(name)}};
  std::string result(text);
  for (const auto& [mark, value] : values) {
    for (std::size_t at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size())) {
      result.replace(at, mark.size(), value);
    }
  }
  return result;
}

/// `kind`: what a class is called behind its name.
std::vector<fs::path> write_files(std::span<const TemplateFile> templates, std::string_view name, std::string_view kind,
                                  const fs::path& directory) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(directory, error))) {
    throw ComponentError(directory.string() + ": exists already; nothing was written");
  }
  fs::create_directories(directory, error);
  if (error) {
    throw ComponentError(directory.string() + ": cannot be created: " + error.message());
  }
  std::vector<fs::path> written;
  try {
    for (const TemplateFile& file : templates) {
      written.push_back(directory / file.path);
      files::write_whole_file(written.back(), filled(file.text, name, kind));
    }
  } catch (const files::WriteFailed&) {
    fs::remove_all(directory, error);  // half a plug-in is none, and the next attempt needs the name
    throw;
  }
  return written;
}

}  // namespace

std::vector<fs::path> write_policy_template(std::string_view name, const fs::path& directory) {
  check_name(name, "policy", builtin_policies());
  return write_files(policy_template_files(), name, "Policy", directory);
}

std::vector<fs::path> write_router_template(std::string_view name, const fs::path& directory) {
  check_name(name, "router", builtin_routers());
  return write_files(router_template_files(), name, "Router", directory);
}

}  // namespace dooly::schedulers
