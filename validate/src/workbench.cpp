#include "validate/workbench.hpp"

#include "scaled_oracle.hpp"
#include "scratch_directory.hpp"

#include "oracle_import/import_profile.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/record_set.hpp"
#include "oracle_store/store_error.hpp"
#include "scenarios/document.hpp"
#include "scenarios/load.hpp"
#include "validate/interruption.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

std::string option(const ProfileImport& profile, const char* key) {
  const auto found = profile.options.find(key);
  return found == profile.options.end() ? std::string() : found->second;
}

import_::ImportOptions import_options(const ProfileImport& profile) {
  return {.gpu = option(profile, "gpu"),
          .engine = option(profile, "engine"),
          .model = option(profile, "model"),
          .dtype = option(profile, "dtype"),
          .kv_dtype = option(profile, "kv_dtype"),
          .backend = option(profile, "backend"),
          .topology = option(profile, "topology"),
          .cuda = option(profile, "cuda")};
}

/// The scenario's text with a workload that is never asked: one is required, and the measurement stands in its place.
std::string with_workload(const ScenarioText& scenario) {
  std::vector<scenario::Problem> told_by_the_loader;
  scenario::Node root;
  try {
    root = scenario::parse_yaml(scenario.text, 0, told_by_the_loader);
  } catch (const scenario::Problem&) {
    return scenario.text;
  }
  if (!root.is_map() || root.members.empty() || root.find("workload") != nullptr) return scenario.text;
  const auto indent = static_cast<std::size_t>(root.members.front().mark.column - 1);
  return scenario.text + "\n" + std::string(indent, ' ') +
         "workload: {synthetic: {requests: 1, arrivals: {process: constant, rate: 1/s}, prompt_tokens: {fixed: 1}, "
         "output_tokens: {fixed: 1}}}\n";
}

}  // namespace

/// Imported profiles, one directory each, so that names of different files do not meet.
class Workbench::Profiles {
 public:
  explicit Profiles(std::function<void(const std::string&)> note) : note_(std::move(note)) {}
  Profiles(const Profiles&) = delete;
  Profiles& operator=(const Profiles&) = delete;

  /// Directory that holds the profile's samples under its name.
  fs::path directory_of(const ProfileImport& profile) {
    std::string identity = profile.name + '\n' + profile.format + '\n' + profile.path.string();
    for (const auto& [key, value] : profile.options) identity += '\n' + key + '=' + value;
    const auto [place, is_new] = known_.try_emplace(identity);
    if (is_new) {
      try {
        place->second = import(profile);
      } catch (...) {
        known_.erase(place);
        throw;
      }
    }
    return place->second;
  }

 private:
  fs::path import(const ProfileImport& profile) {
    if (!fs::exists(profile.path)) throw MissingData(profile.path.string() + ": no such profile");
    if (note_) note_(fmt::format("importing {} ({})", profile.path.string(), profile.format));
    if (!root_) root_.emplace();
    const fs::path directory = root_->path() / std::to_string(known_.size());
    fs::create_directory(directory);
    try {
      store::RecordSet records;
      import_::import_profile(profile.format, profile.path, import_options(profile), records);
      store::PortableWriter writer(directory / (profile.name + ".jsonl.zst"));
      const auto stream = records.stream(profile.path.string());
      for (store::Record record; stream->next(record);) writer.write(record);
      writer.finish();
      stop_if_interrupted();
    } catch (const import_::ImportError& error) {
      throw ValidationError(error.what());
    } catch (const store::StoreWriteFailed&) {
      throw;  // the disk is full: nothing of the validation's
    } catch (const store::StoreError& error) {
      throw ValidationError(error.what());
    }
    return directory;
  }

  std::function<void(const std::string&)> note_;
  std::optional<ScratchDirectory> root_;
  std::map<std::string, fs::path> known_;
};

Workbench::Workbench(std::function<void(const std::string&)> note)
    : profiles_(std::make_unique<Profiles>(std::move(note))) {}
Workbench::~Workbench() = default;

scenario::Scenario Workbench::scenario(const Validation& validation, const std::vector<std::string>& overrides) {
  scenario::Names names = sim::known_names();
  std::vector<fs::path> directories;
  for (const ProfileImport& profile : validation.profiles) directories.push_back(profiles_->directory_of(profile));
  names.store_directories.insert(names.store_directories.begin(), directories.begin(), directories.end());
  return scenario::parse_scenario(with_workload(validation.scenario), validation.scenario.file, overrides, names);
}

void Workbench::scale(std::string term, double factor) {
  scaled_term_ = std::move(term);
  factor_ = factor;
}

sim::Deployment Workbench::deploy(const Validation& validation, const scenario::Scenario& scenario) {
  try {
    sim::Deployment deployment = sim::Deployment::build(scenario);
    if (!scaled_term_.empty())
      for (sim::PoolDeployment& pool : deployment.pools)
        pool.oracle = std::make_unique<ScaledOracle>(std::move(pool.oracle), scaled_term_, factor_);
    return deployment;
  } catch (const sim::DeploymentError& error) {
    throw sim::DeploymentError(validation.file.string() + ": scenario." + error.what());
  } catch (const store::StoreError& error) {
    throw ValidationError(validation.file.string() + ": " + error.what());
  }
}

}  // namespace dooly::validate
