#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dooly::test {

/// A line of a file of tests/keys.
struct ListedKey {
  std::string names;      ///< entries of the plan that are this operator, with commas
  int count = 0;          ///< runs in a step
  std::string signature;  ///< hex
  std::string key;        ///< canonical JSON
};

/// E.g. listed_keys("llama-3.1-8b-tp1-fa3.txt"). Throws std::runtime_error naming the line that is not one.
std::vector<ListedKey> listed_keys(const std::filesystem::path& file);

}  // namespace dooly::test
