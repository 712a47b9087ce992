#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::store {

/// The store cannot be opened, is of a foreign schema version, or a record is damaged. Names path and record.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Measured latencies by (environment, signature, regime, point), in RocksDB behind a pimpl. Column families: meta env
/// signature sample plan comm journal. One writer and any number of readers at a time; each put is one WriteBatch with a
/// synced log, so a killed writer loses at most the point in flight.
class SignatureStore {
 public:
  enum class Mode : std::uint8_t { kRead, kWrite, kCreate };
  /// Throws StoreError naming the path if it cannot be opened or holds another schema version.
  static SignatureStore open(const std::filesystem::path& directory, Mode mode);
  SignatureStore(SignatureStore&&) noexcept;
  SignatureStore& operator=(SignatureStore&&) noexcept;
  ~SignatureStore();

  // --- writing
  /// Makes the environment and the key known; both idempotent.
  std::string put_environment(const Environment& environment);
  oracle::Signature put_key(const oracle::OperatorKey& key);
  void put(const std::string& environment_id, const oracle::Signature& signature, const oracle::Sample& sample);
  /// Many samples in one batch (imports); atomic as a whole.
  void put_all(const std::string& environment_id, const oracle::Signature& signature,
               const std::vector<oracle::Sample>& samples);
  void put_plan(const std::string& name, const std::string& plan_json);

  // --- reading: empty means never measured, an ordinary answer. StoreError on I/O failure or damage.
  std::vector<oracle::Sample> samples(const std::string& environment_id, const oracle::Signature& signature) const;
  std::optional<oracle::Sample> sample(const std::string& environment_id, const oracle::Signature& signature,
                                       oracle::ClockRegime regime, const oracle::SamplePoint& point) const;
  std::optional<oracle::OperatorKey> key(const oracle::Signature& signature) const;
  std::vector<std::pair<std::string, oracle::Environment>> environments() const;
  std::vector<oracle::Signature> signatures(const std::string& environment_id) const;
  std::vector<std::string> plans() const;
  std::optional<std::string> plan(const std::string& name) const;

  struct Damage {
    std::string family;
    std::string record;  ///< readable name of the record
    std::string what;
  };
  /// Reads everything, checks every record and every link between records.
  std::vector<Damage> verify() const;

 private:
  using Environment = oracle::Environment;
  class Impl;
  explicit SignatureStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dooly::store
