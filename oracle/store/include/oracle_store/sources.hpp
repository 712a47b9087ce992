#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_store/record.hpp"
#include "oracle_store/signature_store.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dooly::store {

/// Which environments may answer, and in which order: the lowest rank that has a signature does. No value: not asked.
using EnvironmentChoice = std::function<std::optional<int>(const std::string& id, const oracle::Environment&)>;

/// All of what is given, as one: store directories (read when asked) and portable files (read at once). Without
/// `choice` every environment has rank 0. Asking it for a signature throws StoreError when two environments of one rank
/// hold it (one may not stand for the other by accident); sets() leaves such signatures out. Both throw it when two
/// sources hold different samples of one point. Not thread-safe.
std::unique_ptr<oracle::SampleSource> open_sample_source(const std::vector<std::filesystem::path>& paths,
                                                         const EnvironmentChoice& choice = {});

/// The records of a store directory or a portable file.
std::unique_ptr<RecordStream> open_records(const std::filesystem::path& path);

/// Samples into a store, each synced when sample() returns.
class StoreSink final : public oracle::SampleSink {
 public:
  explicit StoreSink(SignatureStore& store) : store_(store) {}
  void environment(const oracle::Environment& environment) override {
    environment_id_ = store_.put_environment(environment);
  }
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override {
    store_.put(environment_id_, store_.put_key(key), sample);
  }

 private:
  SignatureStore& store_;
  std::string environment_id_;
};

/// Puts records into a store, samples of one series many at a time.
class BatchedWriter {
 public:
  explicit BatchedWriter(SignatureStore& store) : store_(store) {}
  /// Records in order.
  void put(const Record& record);
  /// Puts what waits, and syncs.
  void finish();

 private:
  void put_waiting();
  SignatureStore& store_;
  std::string environment_id_;
  oracle::Signature signature_;
  std::vector<oracle::Sample> waiting_;
};

/// Puts all records into the store; returns their number.
std::uint64_t import_records(RecordStream& records, SignatureStore& store);

}  // namespace dooly::store
