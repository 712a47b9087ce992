#include "test_support/key_list.hpp"

#include "test_support/test_data.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dooly::test {

std::vector<ListedKey> listed_keys(const std::filesystem::path& file) {
  const auto path = source_path("tests/keys") / file;
  std::ifstream lines(path);
  if (!lines) throw std::runtime_error(path.string() + ": cannot be read");
  std::vector<ListedKey> keys;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    ListedKey key;
    std::istringstream words(line);
    if (!(words >> key.names >> key.count >> key.signature) || !std::getline(words >> std::ws, key.key))
      throw std::runtime_error(path.string() + ":" + std::to_string(number) + ": wants NAMES COUNT SIGNATURE KEY");
    keys.push_back(key);
  }
  return keys;
}

}  // namespace dooly::test
