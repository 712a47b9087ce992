#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle_store/record.hpp"
#include "oracle_store/store_error.hpp"
#include "oracle_store/stored_fit.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dooly::store {

/// What of a store is not as it was written, or does not fit the rest.
struct Damage {
  std::string family;  ///< column family, or "file"
  std::string record;  ///< readable name of the record, of the records around a gap, or of the file
  std::string what;
};

/// Measured latencies by (environment, signature, regime, point), in RocksDB behind a pimpl. Column families: meta env
/// signature sample plan comm journal. One writer (one process, one thread) and any number of readers at a time; a
/// reader sees what was there when it opened. Each put is one WriteBatch with a synced log, so a killed writer loses at
/// most the point in flight. Reading is thread-safe.
class SignatureStore {
 public:
  enum class Mode : std::uint8_t {
    kRead,
    kWrite,  ///< a store that is there
    kCreate  ///< the same, or a new one
  };
  /// Throws StoreError naming the path if it cannot be opened or holds another schema version.
  static SignatureStore open(const std::filesystem::path& directory, Mode mode);
  SignatureStore(SignatureStore&&) noexcept;
  SignatureStore& operator=(SignatureStore&&) noexcept;
  /// As close(), but nobody hears of failures.
  ~SignatureStore();
  /// Writes out what is in memory and seals the files: from then on verify() also finds damage in bytes that hold no
  /// record. Nothing else may be called afterwards.
  void close();

  // --- writing
  /// Makes the environment and the key known; both idempotent.
  std::string put_environment(const oracle::Environment& environment);
  oracle::Signature put_key(const oracle::OperatorKey& key);
  /// Environment and key must be known, and the sample without fault_of(): else StoreError. Replaces what is there.
  void put(const std::string& environment_id, const oracle::Signature& signature, const oracle::Sample& sample);
  /// Many samples in one batch (imports); atomic as a whole. The log is synced by the next put(), sync() or close().
  void put_all(const std::string& environment_id, const oracle::Signature& signature,
               const std::vector<oracle::Sample>& samples);
  /// JSON of any spelling; kept in canonical form.
  void put_plan(const std::string& name, const std::string& plan_json);
  void put_comm(const std::string& name, const std::string& table_json);
  /// Any record; what it refers to must be known.
  void put_record(const Record& record);
  /// Replaces what is kept of that series; environment and key must be known. The log is synced by the next put(),
  /// sync() or close().
  void put_fit(const std::string& environment_id, const oracle::Signature& signature, const StoredFit& fit);
  /// A line of history (sweeps began, resumed, ended), in order. JSON; stays in this directory.
  void add_to_journal(const std::string& json);
  void sync();

  // --- reading: empty means never measured, an ordinary answer. StoreError on I/O failure, StoreDamaged on damage.
  std::vector<oracle::Sample> samples(const std::string& environment_id, const oracle::Signature& signature) const;
  std::optional<oracle::Sample> sample(const std::string& environment_id, const oracle::Signature& signature,
                                       oracle::ClockRegime regime, const oracle::SamplePoint& point) const;
  std::optional<oracle::OperatorKey> key(const oracle::Signature& signature) const;
  std::vector<std::pair<std::string, oracle::Environment>> environments() const;
  std::vector<std::pair<oracle::Signature, oracle::OperatorKey>> keys() const;
  std::vector<oracle::Signature> signatures(const std::string& environment_id) const;
  /// As it was put: whoever uses it compares its version and its digest of the samples with those of today.
  std::optional<StoredFit> fit(const std::string& environment_id, const oracle::Signature& signature) const;
  std::vector<std::string> plans() const;
  std::optional<std::string> plan(const std::string& name) const;
  std::vector<std::string> comms() const;
  std::optional<std::string> comm(const std::string& name) const;
  std::vector<std::string> journal() const;
  /// Everything but the journal and the fits, as it is now. Must not outlive the store.
  std::unique_ptr<RecordStream> records() const;

  /// Reads everything, checks every record and every link between records. Damaged blocks are stepped over and named by
  /// the records around them. `remarks`, if wanted: series of samples that ran different kernel families, which is how
  /// an attribute that the key lacks would show (or a library that chooses by size).
  std::vector<Damage> verify(std::vector<Damage>* remarks = nullptr) const;
  /// The same for a directory that perhaps does not open, and the bytes of its files if the last writer closed it.
  static std::vector<Damage> verify(const std::filesystem::path& directory, std::vector<Damage>* remarks = nullptr);

  /// Implementation; in src/.
  class Impl;

 private:
  explicit SignatureStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dooly::store
