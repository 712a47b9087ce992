#include "schedulers/policy_template.hpp"

#include "files/errors.hpp"
#include "files/whole_file.hpp"
#include "names.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/component_error.hpp"
#include "template_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace dooly::schedulers {
namespace {

namespace fs = std::filesystem;

void check_name(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_legal = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (name.empty() || name.size() > 64 || !is_lower(name.front()) || !std::all_of(name.begin(), name.end(), is_legal)) {
    throw ComponentError(
        "policy name: must be a lower-case letter, then up to 63 lower-case letters, digits, '-' or '_', got '" +
        std::string(name) + "'");
  }
  for (const sdk::PolicyEntry& entry : builtin_policies()) {
    if (name == entry.name) throw ComponentError("policy name: '" + std::string(name) + "' is a built-in policy");
  }
}

/// "my-policy2" -> "MyPolicy2".
std::string class_name(std::string_view name) {
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
  return text + "Policy";
}

/// "my-policy2" -> "my_policy2".
std::string identifier(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string filled(std::string_view text, std::string_view name) {
  const std::pair<std::string_view, std::string> values[] = {
      {"{{name}}", std::string(name)}, {"{{Class}}", class_name(name)}, {"{{identifier}}", identifier(name)}};
  std::string result(text);
  for (const auto& [mark, value] : values) {
    for (std::size_t at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size())) {
      result.replace(at, mark.size(), value);
    }
  }
  return result;
}

}  // namespace

std::vector<fs::path> write_policy_template(std::string_view name, const fs::path& directory) {
  check_name(name);
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
    for (const TemplateFile& file : policy_template_files()) {
      written.push_back(directory / file.path);
      files::write_whole_file(written.back(), filled(file.text, name));
    }
  } catch (const files::WriteFailed&) {
    fs::remove_all(directory, error);  // half a plug-in is none, and the next attempt needs the name
    throw;
  }
  return written;
}

}  // namespace dooly::schedulers
