#include "identity.hpp"

#include "cli_error.hpp"

#include "oracle/sha256.hpp"
#include "scenarios/write.hpp"

#include <filesystem>
#include <map>

namespace dooly::cli {
namespace {

/// A model may be named by the folder that holds its config.json.
std::filesystem::path file_behind(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
}

class FileHashes {
 public:
  const std::string& of(const std::filesystem::path& path) {
    const std::filesystem::path file = file_behind(path);
    const auto known = hashes_.find(file);
    if (known != hashes_.end()) return known->second;
    try {
      return hashes_.emplace(file, oracle::sha256_file(file)).first->second;
    } catch (const std::runtime_error& error) {
      throw UsageError(error.what());
    }
  }

 private:
  std::map<std::filesystem::path, std::string> hashes_;
};

}  // namespace

results::ScenarioIdentity identity_of(const scenario::Scenario& scenario) {
  FileHashes hashes;
  results::ScenarioIdentity identity;
  identity.name = scenario.name;
  identity.seed = scenario.seed;
  identity.sha256 = oracle::sha256_hex(
      scenario::resolved_text(scenario, [&](const std::filesystem::path& path) { return hashes.of(path); }));
  for (const scenario::InputFile& input : scenario::input_files(scenario)) {
    const std::filesystem::path file = file_behind(input.path);
    identity.inputs.push_back({file.filename().string(), hashes.of(file)});
  }
  return identity;
}

}  // namespace dooly::cli
