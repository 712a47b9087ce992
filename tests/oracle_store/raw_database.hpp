#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace dooly::store {

/// A store's database opened behind its back, to plant what no writer would.
class RawDatabase {
 public:
  explicit RawDatabase(const std::filesystem::path& path);
  ~RawDatabase();
  void put(const std::string& family, const std::string& key, const std::string& value);
  /// With a sound checksum.
  void put_sealed(const std::string& family, const std::string& key, const std::string& payload);
  void remove(const std::string& family, const std::string& key);
  std::string get(const std::string& family, const std::string& key);
  /// Of the n-th record.
  std::string key_at(const std::string& family, std::size_t n);

  /// A database that another program made.
  static void make_foreign(const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dooly::store
