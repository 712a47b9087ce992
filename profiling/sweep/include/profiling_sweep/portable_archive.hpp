#pragma once

#include "oracle_store/portable_file.hpp"
#include "profiling_sweep/sample_archive.hpp"

#include <filesystem>

namespace dooly::profiling {

/// Samples in a portable file, for machines without RocksDB: FILE.partial while a sweep runs, FILE after finish();
/// history in FILE.journal. A file that is there is added to.
class PortableArchive final : public SampleArchive {
 public:
  /// Throws StoreError if the file is damaged or cannot be written.
  explicit PortableArchive(const std::filesystem::path& path);
  void environment(const oracle::Environment& environment) override { sink_.environment(environment); }
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override { sink_.sample(key, sample); }
  std::vector<oracle::SampleSet> measured() const override { return sink_.sets(); }
  void links(const store::CommRecord& record) override { sink_.document(record); }
  void note(const std::string& json) override;
  /// Puts the file in its place; returns the number of its records.
  std::uint64_t finish() { return sink_.finish(); }

 private:
  std::filesystem::path journal_;
  store::PortableSink sink_;
};

}  // namespace dooly::profiling
