#include "identity.hpp"

#include "cli_error.hpp"

#include "oracle/sha256.hpp"
#include "oracle_store/sources.hpp"
#include "scenarios/write.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <map>

namespace dooly::cli {
namespace {

/// Of what predictions read in a store, whatever files its database keeps it in: environments, points and their
/// medians.
std::string store_hash(const std::filesystem::path& directory) {
  const auto records = store::open_records(directory);
  store::Record record;
  oracle::Sha256 hash;
  std::string environment;
  oracle::Signature signature;
  while (records->next(record)) {
    if (const auto* where = std::get_if<store::EnvironmentRecord>(&record))
      hash.update(where->id).update(canonical_json(where->environment));
    const auto* measured = std::get_if<store::SampleRecord>(&record);
    if (measured == nullptr) continue;
    if (measured->environment_id != environment) hash.update(environment = measured->environment_id);
    if (measured->signature != signature) {
      signature = measured->signature;
      hash.update(signature.bytes.data(), signature.bytes.size());
    }
    const oracle::Sample& sample = measured->sample;
    std::array<std::uint64_t, 9> figures{};
    std::copy(sample.point.begin(), sample.point.end(), figures.begin());
    figures[7] = static_cast<std::uint64_t>(sample.regime) << 8 | static_cast<std::uint64_t>(sample.status);
    figures[8] = std::bit_cast<std::uint64_t>(sample.median_s);
    hash.update(figures.data(), sizeof figures);
  }
  return hash.finish_hex();
}

bool is_store(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / "CURRENT", ignored);
}

/// A model may be named by the folder that holds its config.json.
std::filesystem::path file_behind(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) && !is_store(path) ? path / "config.json" : path;
}

class FileHashes {
 public:
  const std::string& of(const std::filesystem::path& path) {
    const std::filesystem::path file = file_behind(path);
    const auto known = hashes_.find(file);
    if (known != hashes_.end()) return known->second;
    try {
      return hashes_.emplace(file, is_store(file) ? store_hash(file) : oracle::sha256_file(file)).first->second;
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
