#include "raw_database.hpp"

#include "record_codec.hpp"

#include <rocksdb/db.h>

#include <map>
#include <stdexcept>

namespace dooly::store {

struct RawDatabase::Impl {
  std::unique_ptr<rocksdb::DB> db;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> families;
};

namespace {

void check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

}  // namespace

RawDatabase::RawDatabase(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  std::vector<std::string> names;
  check(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path.string(), &names));
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  check(rocksdb::DB::Open(rocksdb::DBOptions(), path.string(), descriptors, &handles, &db));
  impl_->db.reset(db);
  for (std::size_t i = 0; i < names.size(); ++i) impl_->families[names[i]] = handles[i];
  std::filesystem::remove(path / "SEAL");  // what comes is no damage to the files
}

RawDatabase::~RawDatabase() {
  for (const auto& [name, handle] : impl_->families) impl_->db->DestroyColumnFamilyHandle(handle);
}

void RawDatabase::put(const std::string& family, const std::string& key, const std::string& value) {
  check(impl_->db->Put(rocksdb::WriteOptions(), impl_->families.at(family), key, value));
}

void RawDatabase::put_sealed(const std::string& family, const std::string& key, const std::string& payload) {
  std::string value;
  seal_value(value, family, key, payload);
  put(family, key, value);
}

void RawDatabase::remove(const std::string& family, const std::string& key) {
  check(impl_->db->Delete(rocksdb::WriteOptions(), impl_->families.at(family), key));
}

std::string RawDatabase::get(const std::string& family, const std::string& key) {
  std::string value;
  check(impl_->db->Get(rocksdb::ReadOptions(), impl_->families.at(family), key, &value));
  return value;
}

std::string RawDatabase::key_at(const std::string& family, std::size_t n) {
  const std::unique_ptr<rocksdb::Iterator> at(
      impl_->db->NewIterator(rocksdb::ReadOptions(), impl_->families.at(family)));
  for (at->SeekToFirst(); at->Valid(); at->Next())
    if (n-- == 0) return at->key().ToString();
  throw std::runtime_error("no such record");
}

void RawDatabase::make_foreign(const std::filesystem::path& path) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  check(rocksdb::DB::Open(options, path.string(), &db));
  const std::unique_ptr<rocksdb::DB> owned(db);
  check(owned->Put(rocksdb::WriteOptions(), "theirs", "x"));
}

}  // namespace dooly::store
