#pragma once

#include "oracle_store/signature_store.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dooly::store {

/// Sizes and checksums of a closed store's files, in the file SEAL among them: finds damage in bytes that belong to no
/// record (manifest, indexes, logs). There is none while a writer works, or after it was killed.
class FileSeal {
 public:
  /// Reads DIR/SEAL; empty if there is none or it is not sound.
  static FileSeal read(const std::filesystem::path& directory);
  /// Of the files as they are; table files that `previous` knows are not read again, as they never change.
  static FileSeal of(const std::filesystem::path& directory, const FileSeal& previous);
  void write(const std::filesystem::path& directory) const;
  /// Takes it away before a writer's first change, which opening is; remove() when that is done, or put_back().
  static void set_aside(const std::filesystem::path& directory);
  static void put_back(const std::filesystem::path& directory);
  static void remove(const std::filesystem::path& directory);
  static bool is_there(const std::filesystem::path& directory);

  /// Differences between SEAL and the files. Nothing if there is no SEAL.
  static std::vector<Damage> check(const std::filesystem::path& directory);

 private:
  struct Entry {
    std::uintmax_t size = 0;
    std::uint64_t checksum = 0;
  };
  std::string text() const;
  std::map<std::string, Entry> entries_;
};

}  // namespace dooly::store
