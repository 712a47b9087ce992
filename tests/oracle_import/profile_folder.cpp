#include "profile_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace dooly::import_::test {

ProfileFolder::ProfileFolder() {
  static int number = 0;
  path_ = std::filesystem::temp_directory_path() / fmt::format("dooly-import-{}-{}", getpid(), number++);
  std::filesystem::create_directories(path_);
}

ProfileFolder::~ProfileFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path ProfileFolder::write(const std::string& name, const std::string& text) const {
  const auto file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << (text.starts_with('\n') ? text.substr(1) : text);
  return file;
}

std::string operation(const oracle::OperatorKey& key) {
  std::string out = fmt::format("{} {} {}", key.kind, fmt::join(key.dtypes, "/"), fmt::join(key.dims, "x"));
  for (const auto& [name, value] : key.attributes) {
    out += " " + name + "=";
    if (const auto* flag = std::get_if<bool>(&value)) out += *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) out += std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&value)) out += fmt::format("{}", *real);
    if (const auto* word = std::get_if<std::string>(&value)) out += *word;
  }
  return fmt::format("{} {} {}", out, fmt::join(key.request_dims, "/"), key.family);
}

void MemorySamples::environment(const oracle::Environment& environment) {
  environments.push_back(environment);
  text += fmt::format("# {} {} {}\n", environment.gpu, environment.source, environment.topology);
}

void MemorySamples::sample(const oracle::OperatorKey& key, const oracle::Sample& sample) {
  auto& [known, samples] = by_signature[signature_of(key)];
  known = key;
  samples.push_back(sample);
  ++count;
  const bool suspect = sample.status == oracle::SampleStatus::kSuspect;
  text += fmt::format("{} | {} | {:.6g} n={}{}\n", operation(key), fmt::join(sample.point, ","), sample.median_s * 1e6,
                      sample.count, suspect ? " suspect" : "");
}

std::vector<oracle::Sample> MemorySamples::samples(const oracle::Signature& signature) const {
  const auto found = by_signature.find(signature);
  return found == by_signature.end() ? std::vector<oracle::Sample>() : found->second.second;
}

std::vector<oracle::SampleSet> MemorySamples::sets() const {
  std::vector<oracle::SampleSet> out;
  for (const auto& [signature, known] : by_signature) out.push_back({known.first, signature, known.second});
  return out;
}

}  // namespace dooly::import_::test
