#pragma once

#include "file_seal.hpp"
#include "oracle_store/signature_store.hpp"

#include <rocksdb/db.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::store {

enum class Family : std::uint8_t { kMeta, kEnv, kSignature, kSample, kPlan, kComm, kJournal };
inline constexpr std::array<Family, 7> kFamilies = {Family::kMeta, Family::kEnv,  Family::kSignature, Family::kSample,
                                                    Family::kPlan, Family::kComm, Family::kJournal};
std::string_view family_name(Family family);

/// The RocksDB database of a store: checksummed values in column families, errors as StoreError. The only class that
/// knows how RocksDB is set up.
class Database {
 public:
  Database(const std::filesystem::path& directory, SignatureStore::Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  void close();

  const std::filesystem::path& directory() const { return directory_; }
  /// False if there is none. Throws StoreDamaged if the value is not what was written.
  bool get(Family family, std::string_view key, rocksdb::PinnableSlice& value, std::string_view& payload) const;
  void add(rocksdb::WriteBatch& batch, Family family, std::string_view key, std::string_view payload);
  void write(rocksdb::WriteBatch& batch, bool synced);
  void sync();

  /// All of a family in order; `bulk`: read once, do not keep in memory.
  std::unique_ptr<rocksdb::Iterator> scan(Family family, bool bulk) const;
  /// Iterators of one moment.
  std::vector<std::unique_ptr<rocksdb::Iterator>> scan(const std::vector<Family>& families) const;
  /// Of the record that `at` is at.
  std::string_view payload(Family family, const rocksdb::Iterator& at) const;
  /// Throws if `status` is an error.
  void check(const rocksdb::Status& status, std::string_view doing) const;

 private:
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles_[static_cast<std::size_t>(family)]; }
  void open(SignatureStore::Mode mode);
  void check_schema(SignatureStore::Mode mode);
  bool is_empty() const;
  void release();

  std::filesystem::path directory_;
  FileSeal previous_seal_;
  bool writable_ = false;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;  ///< as kFamilies; then the default family
  std::string value_;                                  ///< scratch of the writer
};

inline std::string_view view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
inline rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace dooly::store
