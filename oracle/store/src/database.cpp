#include "database.hpp"

#include "record_codec.hpp"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

namespace dooly::store {
namespace {

using Mode = SignatureStore::Mode;
constexpr std::string_view kSchemaVersion = "1";
constexpr std::size_t kCacheBytes = std::size_t{256} << 20;  // at most; a million samples need about 100 MB
constexpr int kAttempts = 20;  // of a reader while a writer replaces files
constexpr const char* kCutShort = ": its making was cut short: it holds no records; dooly store import makes it anew";

/// RocksDB's own log would be written by readers too, into the store.
class NoLog : public rocksdb::Logger {
 public:
  NoLog() : rocksdb::Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::ColumnFamilyOptions family_options() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kLZ4Compression;
  return options;
}

rocksdb::DBOptions database_options(Mode mode) {
  rocksdb::DBOptions options;
  options.create_if_missing = options.create_missing_column_families = mode == Mode::kCreate;
  options.info_log = std::make_shared<NoLog>();
  // A torn record at the end of the log is the point that a killed writer had in flight; other damage is an error.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.skip_stats_update_on_db_open = true;
  options.max_open_files = -1;  // readers keep files that a writer deletes
  options.max_background_jobs = 2;
  options.max_file_opening_threads = 1;  // where more cannot be started for want of memory, RocksDB ends the program
  return options;
}

bool has_database(const std::filesystem::path& directory) { return std::filesystem::exists(directory / "CURRENT"); }

/// Changes with every table or log that comes or goes. A writer records that before it removes old ones: a reader that
/// finds the same before and after opening has seen tables and logs of one moment. (RocksDB takes a log that is gone
/// for one that was never there.)
std::string manifest_state(const std::filesystem::path& directory) {
  std::string name;
  std::getline(std::ifstream(directory / "CURRENT"), name);
  std::error_code error;
  return name + " " + std::to_string(std::filesystem::file_size(directory / name, error));
}

/// Of a database that has the default column family alone.
bool is_without_records(const std::filesystem::path& directory) {
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(rocksdb::Options(database_options(Mode::kRead), family_options()),
                                    directory.string(), &opened)
           .ok())
    return false;
  const std::unique_ptr<rocksdb::DB> db(opened);
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  at->SeekToFirst();
  return !at->Valid() && at->status().ok();
}

/// A writer ended between the column families, all of which it makes before the first record: those that are there are
/// the first of ours.
bool is_half_made(const std::filesystem::path& directory) {
  std::vector<std::string> there;
  if (!rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), directory.string(), &there).ok()) return false;
  std::erase(there, rocksdb::kDefaultColumnFamilyName);
  if (there.empty()) return is_without_records(directory);
  if (there.size() >= kFamilies.size()) return false;
  for (const Family family : kFamilies) std::erase(there, std::string(family_name(family)));
  return there.empty();
}

/// A directory that somebody uses for something else is not made a store.
void refuse_foreign(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory) || has_database(directory)) return;
  if (!std::filesystem::is_directory(directory)) throw StoreError(directory.string() + ": is no directory");
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    const auto known = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (known("LOCK") || known("IDENTITY") || known("MANIFEST-") || known("OPTIONS-") || name.ends_with(".dbtmp") ||
        name.ends_with(".log"))
      continue;  // of a store whose making was cut short
    throw StoreError(directory.string() + ": is no store, and holds other files (" + name + ")");
  }
}

}  // namespace

std::string_view family_name(Family family) {
  constexpr std::string_view kNames[] = {"meta", "env", "signature", "sample", "plan", "comm", "journal"};
  return kNames[static_cast<std::size_t>(family)];
}

Database::Database(const std::filesystem::path& directory, Mode mode) : directory_(directory) {
  writable_ = mode != Mode::kRead;
  if (mode == Mode::kCreate)
    refuse_foreign(directory);
  else if (!has_database(directory))
    throw StoreError(directory.string() + ": holds no store");
  try {
    open(mode);
    check_schema(mode);
  } catch (...) {
    release();
    throw;
  }
}

void Database::open(Mode mode) {
  if (mode == Mode::kCreate) std::filesystem::create_directories(directory_);
  const rocksdb::DBOptions options = database_options(mode);
  const rocksdb::ColumnFamilyOptions shared = family_options();
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const Family family : kFamilies) families.emplace_back(std::string(family_name(family)), shared);
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, shared);
  rocksdb::Status status;
  bool stood_still = false;
  if (writable_) {
    previous_seal_ = FileSeal::read(directory_);
    FileSeal::set_aside(directory_);
  }
  for (int attempt = 0; attempt < kAttempts && !stood_still; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    release();
    rocksdb::DB* db = nullptr;
    const std::string before = manifest_state(directory_);
    const bool was_sealed = FileSeal::is_there(directory_);
    status = writable_ ? rocksdb::DB::Open(options, directory_.string(), families, &handles_, &db)
                       : rocksdb::DB::OpenForReadOnly(options, directory_.string(), families, &handles_, &db);
    db_.reset(db);
    // A writer that ends meanwhile takes files away, and seals: what failed before that says nothing.
    stood_still = writable_ || (manifest_state(directory_) == before && (status.ok() || was_sealed));
  }
  const auto says = [&](const char* what) { return status.ToString().find(what) != std::string::npos; };
  const bool is_refused = status.IsIOError() && says("open a file for lock");
  const bool is_locked = status.IsIOError() && !is_refused && says("lock");
  if (writable_ && !status.ok() && !is_locked) FileSeal::put_back(directory_);
  if (status.ok() && !stood_still) throw StoreError(directory_.string() + ": a writer keeps changing it: try again");
  if (is_refused) throw StoreError(directory_.string() + ": cannot be written: " + status.ToString());
  if (is_locked) throw StoreError(directory_.string() + ": another process is writing to this store");
  if (!writable_ && status.IsInvalidArgument() && is_half_made(directory_))
    throw StoreUnfinished(directory_.string() + kCutShort);
  if (status.IsInvalidArgument())
    throw StoreError(directory_.string() + ": is no store of dooly: " + status.ToString());
  check(status, "open");
  if (writable_) FileSeal::remove(directory_);
}

void Database::check_schema(Mode mode) {
  rocksdb::PinnableSlice value;
  std::string_view version;
  if (get(Family::kMeta, "schema", value, version)) {
    if (version == kSchemaVersion) return;
    throw StoreError(fmt::format("{}: holds schema version {}, this program reads and writes version {}",
                                 directory_.string(), version, kSchemaVersion));
  }
  if (mode == Mode::kRead) throw StoreUnfinished(directory_.string() + kCutShort);
  if (!is_empty())
    throw StoreError(directory_.string() + ": is no store of dooly: holds records but no schema version");
  rocksdb::WriteBatch batch;
  add(batch, Family::kMeta, "schema", kSchemaVersion);
  write(batch, true);
}

bool Database::is_empty() const {
  for (rocksdb::ColumnFamilyHandle* family : handles_) {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(rocksdb::ReadOptions(), family));
    at->SeekToFirst();
    if (at->Valid() || !at->status().ok()) return false;
  }
  return true;
}

void Database::release() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* family : handles_) db_->DestroyColumnFamilyHandle(family);
  handles_.clear();
  db_.reset();
}

void Database::close() {
  if (!db_) return;
  rocksdb::Status status;
  if (writable_) {
    status = db_->Flush(rocksdb::FlushOptions(), handles_);
    if (status.ok()) status = db_->SyncWAL();
  }
  release();
  check(status, "close");
  if (writable_) FileSeal::of(directory_, previous_seal_).write(directory_);
}

Database::~Database() {
  try {
    close();
  } catch (...) {  // what is written is in the log; the next writer takes it from there
  }
}

bool Database::get(Family family, std::string_view key, rocksdb::PinnableSlice& value,
                   std::string_view& payload) const {
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), handle(family), slice(key), &value);
  if (status.IsNotFound()) return false;
  check(status, "read");
  if (open_value(view(value), family_name(family), key, payload)) return true;
  throw StoreDamaged(fmt::format("{}: {}: record {} is damaged: its checksum differs", directory_.string(),
                                 family_name(family), hex_of(key)));
}

void Database::add(rocksdb::WriteBatch& batch, Family family, std::string_view key, std::string_view payload) {
  seal_value(value_, family_name(family), key, payload);
  check(batch.Put(handle(family), slice(key), value_), "write");
}

void Database::write(rocksdb::WriteBatch& batch, bool synced) {
  if (!writable_) throw StoreError(directory_.string() + ": is open for reading");
  rocksdb::WriteOptions options;
  options.sync = synced;
  check(db_->Write(options, &batch), "write");
}

void Database::sync() { check(db_->SyncWAL(), "sync"); }

std::unique_ptr<rocksdb::Iterator> Database::scan(Family family, bool bulk) const {
  rocksdb::ReadOptions options;
  options.fill_cache = !bulk;
  if (bulk) options.readahead_size = std::size_t{1} << 20;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, handle(family)));
}

std::vector<std::unique_ptr<rocksdb::Iterator>> Database::scan(const std::vector<Family>& families) const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = std::size_t{1} << 20;
  std::vector<rocksdb::ColumnFamilyHandle*> wanted;
  for (const Family family : families) wanted.push_back(handle(family));
  std::vector<rocksdb::Iterator*> made;
  check(db_->NewIterators(options, wanted, &made), "read");
  return {made.begin(), made.end()};
}

std::string_view Database::payload(Family family, const rocksdb::Iterator& at) const {
  std::string_view payload;
  if (open_value(view(at.value()), family_name(family), view(at.key()), payload)) return payload;
  throw StoreDamaged(fmt::format("{}: {}: record {} is damaged: its checksum differs", directory_.string(),
                                 family_name(family), hex_of(view(at.key()))));
}

void Database::check(const rocksdb::Status& status, std::string_view doing) const {
  if (status.ok()) return;
  const std::string message = fmt::format("{}: cannot {}: {}", directory_.string(), doing, status.ToString());
  if (status.IsCorruption()) throw StoreDamaged(message);
  if (status.IsNoSpace() || (writable_ && status.IsIOError())) throw StoreWriteFailed(message);
  throw StoreError(message);
}

}  // namespace dooly::store
