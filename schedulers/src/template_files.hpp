#pragma once

#include <span>
#include <string_view>

namespace dooly::schedulers {

/// A file of schedulers/templates/ with its place-holders `{{name}}` (as given), `{{Class}}` and
/// `{{identifier}}`.
struct TemplateFile {
  std::string_view path;
  std::string_view text;
};
std::span<const TemplateFile> policy_template_files();
std::span<const TemplateFile> router_template_files();

}  // namespace dooly::schedulers
