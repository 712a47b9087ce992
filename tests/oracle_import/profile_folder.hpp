#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_import/import_profile.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dooly::import_::test {

/// A folder of files that is gone at the end of the test.
class ProfileFolder {
 public:
  ProfileFolder();
  ~ProfileFolder();
  ProfileFolder(const ProfileFolder&) = delete;
  ProfileFolder& operator=(const ProfileFolder&) = delete;
  /// Creates folders on the way. The text may begin with the line end after R"(.
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Keeps what it is handed: a sink and a source.
class MemorySamples : public oracle::SampleSink, public oracle::SampleSource {
 public:
  void environment(const oracle::Environment& environment) override;
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override;
  std::vector<oracle::Sample> samples(const oracle::Signature& signature) const override;
  std::vector<oracle::SampleSet> sets() const override;
  std::string describe() const override { return "memory"; }

  std::vector<oracle::Environment> environments;
  /// A line a sample, as it came: operation | point | times in microseconds, repetitions and suspicion.
  std::string text;
  std::map<oracle::Signature, std::pair<oracle::OperatorKey, std::vector<oracle::Sample>>> by_signature;
  std::uint64_t count = 0;
};

/// kind dtypes dims attributes family
std::string operation(const oracle::OperatorKey& key);

}  // namespace dooly::import_::test
