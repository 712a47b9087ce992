#include "schedulers/plugin_loader.hpp"

#include "names.hpp"
#include "schedulers/component_error.hpp"
#include "schedulers/option_check.hpp"

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>
#include <system_error>

namespace dooly::schedulers {
namespace {

namespace fs = std::filesystem;
using sdk::DoolyPlugin;

struct Closer {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Closer>;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw ComponentError("plug-in " + path.string() + ": " + what);
}

Library open_library(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) refuse(path, "no such file");
  if (!fs::is_regular_file(status)) refuse(path, "is not a file");
  // An absolute path: without a slash the loader would search the system's folders instead.
  Library library(dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) refuse(path, std::string("does not load: ") + dlerror());
  return library;
}

const DoolyPlugin& exported_plugin(const fs::path& path, void* library) {
  using Export = const DoolyPlugin* (*)();
  void* const symbol = dlsym(library, "dooly_plugin");
  if (symbol == nullptr)
    refuse(path, "is no Dooly plug-in: it exports no dooly_plugin(); see DOOLY_PLUGIN in dooly/sdk/plugin.hpp");
  const DoolyPlugin* const plugin = reinterpret_cast<Export>(symbol)();
  if (plugin == nullptr) refuse(path, "dooly_plugin() returned nothing");
  if (plugin->abi != sdk::kAbiNumber) {
    refuse(path, "was built for ABI number " + std::to_string(plugin->abi) + " of the SDK, this program has " +
                     std::to_string(sdk::kAbiNumber) + "; build it again with this program's SDK");
  }
  if (plugin->compiler == nullptr || std::strcmp(plugin->compiler, sdk::kCompilerTag) != 0) {
    refuse(path, "was built for '" + std::string(plugin->compiler == nullptr ? "" : plugin->compiler) +
                     "', this program for '" + sdk::kCompilerTag + "'");
  }
  return *plugin;
}

void check_schema(const fs::path& path, const std::string& owner, std::span<const sdk::OptionSpec> schema) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const sdk::OptionSpec& option = schema[i];
    if (option.name == nullptr || option.fallback == nullptr || option.allowed == nullptr || option.help == nullptr) {
      refuse(path, owner + ": an option has a null text");
    }
    if (!is_name(option.name)) refuse(path, owner + ": bad option name '" + option.name + "'");
    for (std::size_t j = 0; j < i; ++j) {
      if (std::strcmp(schema[j].name, option.name) == 0)
        refuse(path, owner + ": option '" + option.name + "' appears twice");
    }
    if (*option.fallback == '\0') continue;
    const auto problems = check_options(schema.subspan(i, 1), {{option.name, option.fallback}});
    if (!problems.empty()) refuse(path, owner + ": the default of option '" + option.name + "' " + problems[0].what);
  }
}

template <class Entry>
void check_entries(const fs::path& path, const std::string& kind, std::span<const Entry> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (entry.name == nullptr || !is_name(entry.name)) {
      refuse(path, kind + " number " + std::to_string(i) + " has a bad name '" +
                       (entry.name == nullptr ? "" : entry.name) + "'");
    }
    const std::string owner = kind + " '" + entry.name + "'";
    if (entry.help == nullptr) refuse(path, owner + " has a null help text");
    if (entry.create == nullptr) refuse(path, owner + " has no factory");
    for (std::size_t j = 0; j < i; ++j) {
      if (std::strcmp(entries[j].name, entry.name) == 0) refuse(path, owner + " appears twice");
    }
    check_schema(path, owner, entry.options);
  }
}

void check_content(const fs::path& path, const DoolyPlugin& plugin) {
  if (plugin.name == nullptr || *plugin.name == '\0') refuse(path, "has no name");
  if (plugin.version == nullptr) refuse(path, "has no version");
  check_entries(path, "policy", plugin.policies);
  check_entries(path, "router", plugin.routers);
  check_entries(path, "oracle", plugin.oracles);
  if (plugin.policies.empty() && plugin.routers.empty() && plugin.oracles.empty()) {
    refuse(path, "offers no policy, router or oracle");
  }
}

}  // namespace

const DoolyPlugin& load_plugin(const fs::path& path) {
  Library library = open_library(path);
  const DoolyPlugin& plugin = exported_plugin(path, library.get());
  check_content(path, plugin);
  (void)library.release();  // stays loaded: see the header
  return plugin;
}

}  // namespace dooly::schedulers
