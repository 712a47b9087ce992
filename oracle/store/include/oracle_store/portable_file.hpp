#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_store/record.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace dooly::store {

// The portable form of a store (docs/store-format.md): records as sorted JSON Lines in canonical form, with a header
// line and a checksum line, in one zstd frame. The same content is the same bytes.

/// Writes a file under a temporary name and puts it in its place in finish().
class PortableWriter {
 public:
  /// Throws StoreError if the file cannot be written, or a sweep is appending to FILE.partial: its end would put what
  /// it knows in the place of what is written here. `of_sweep`: it is the sweep that writes.
  explicit PortableWriter(const std::filesystem::path& path, bool of_sweep = false);
  ~PortableWriter();
  /// Records in order; throws StoreError for one that is out of order or holds what no store takes.
  void write(const Record& record);
  /// Ends the file; returns the number of records. Without it nothing is left behind.
  std::uint64_t finish();
  /// What is written to until then; held alone by this process.
  const std::filesystem::path& temporary() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads a portable file and checks everything on the way: schema version, order, links, checksum. Messages are
/// `FILE:LINE: what is wrong`. The checksum stands at the end: what was read before is sound only if next() has said so
/// by returning false.
class PortableReader final : public RecordStream {
 public:
  explicit PortableReader(const std::filesystem::path& path);
  ~PortableReader() override;
  bool next(Record& record) override;
  const std::string& name() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// One record as a line of a portable file, without the line end.
std::string portable_line(const Record& record);
/// Reads such a line in any JSON spelling. Throws StoreError that says what is wrong with it.
Record parse_portable_line(std::string_view line);

/// Samples into a portable file, for machines without RocksDB. Each sample is at once appended to FILE.partial, so that
/// a killed writer loses at most the one in flight: constructed again it goes on with what is there. finish() sorts
/// everything into FILE, adding to what FILE held; a sample replaces an older one of the same point.
class PortableSink final : public oracle::SampleSink {
 public:
  /// When what was appended is made to survive a crash of the machine; a killed process loses nothing either way.
  enum class Sync : std::uint8_t {
    kEachSample,  ///< measuring: a point costs more than a sync
    kAtFinish  ///< imports of many samples
  };
  explicit PortableSink(const std::filesystem::path& path, Sync sync = Sync::kEachSample);
  ~PortableSink() override;
  void environment(const oracle::Environment& environment) override;
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override;
  /// One that refers to no other.
  void document(const CommRecord& record);
  /// Already measured, here or in an earlier run?
  bool has(const oracle::OperatorKey& key, oracle::ClockRegime regime, const oracle::SamplePoint& point) const;
  /// All that is there of the environment that was set last, by signature.
  std::vector<oracle::SampleSet> sets() const;
  std::uint64_t finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dooly::store
