#pragma once

#include "scenarios/load.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario::test {

/// A directory that goes away with the object, with files for scenarios to name: azure.csv, lengths.json, numbers.txt,
/// config.json, mine/Model-8B/config.json, plugin.so. None has sensible content: loading looks only for the files.
class TestFiles {
 public:
  TestFiles();
  ~TestFiles();
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path file(std::string_view name) const { return directory_ / name; }

 private:
  std::filesystem::path directory_;
};

/// Two models, two GPUs, the usual policies and routers.
const Names& known_names();

/// Loads the text as DIRECTORY/s.yaml.
Scenario load(std::string_view text, const std::vector<std::string>& overrides = {},
              const Names& names = known_names());

/// The messages of loading the text, the directory removed from them; empty if it loads.
std::vector<std::string> errors(std::string_view text, const std::vector<std::string>& overrides = {});

/// The short form: `engine` and other keys may be appended.
std::string short_form(std::string_view more = {});
/// Two pools, prefill and decode.
std::string two_pools(std::string_view prefill_more = {}, std::string_view decode_more = {});

}  // namespace dooly::scenario::test
