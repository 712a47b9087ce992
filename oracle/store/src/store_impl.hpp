#pragma once

#include "database.hpp"

#include <set>
#include <string>

namespace dooly::store {

class SignatureStore::Impl {
 public:
  Impl(const std::filesystem::path& directory, Mode mode) : database(directory, mode) {}

  Database database;
  std::string path() const { return database.directory().string(); }

  void require_environment(const std::string& id);
  void require_key(const oracle::Signature& signature);
  void add_sample(rocksdb::WriteBatch& batch, std::string& key, std::size_t prefix, const oracle::Sample& sample);
  void put_document(Family family, const std::string& name, const std::string& json);
  std::vector<std::string> names(Family family) const;
  std::optional<std::string> document(Family family, const std::string& name) const;

 private:
  std::set<std::string> known_environments_;  ///< seen in the database by this writer
  std::set<oracle::Signature> known_keys_;
  std::string payload_;  ///< scratch of the writer
};

inline std::string_view bytes_of(const oracle::Signature& signature) {
  return {reinterpret_cast<const char*>(signature.bytes.data()), signature.bytes.size()};
}
/// 32 bytes of 64 hex digits. Throws StoreError for anything else.
std::string raw_id(const std::string& environment_id);
/// What the bytes under these keys are. Throw StoreDamaged if they are not.
oracle::OperatorKey parsed_key(std::string_view key, std::string_view payload);
oracle::Environment parsed_environment(std::string_view key, std::string_view payload);
void parse_sample(std::string_view key, std::string_view payload, SampleRecord& record);

}  // namespace dooly::store
