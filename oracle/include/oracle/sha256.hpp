#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace dooly::oracle {

/// SHA-256 (FIPS 180-4) of bytes handed over piece by piece; memory use is constant.
class Sha256 {
 public:
  Sha256() { reset(); }
  Sha256& update(const void* bytes, std::size_t size);
  Sha256& update(std::string_view text) { return update(text.data(), text.size()); }
  /// The digest of everything so far; starts anew.
  std::array<std::uint8_t, 32> finish();
  /// The same as 64 lower-case hex digits.
  std::string finish_hex();

 private:
  void reset();
  void compress(const std::uint8_t* blocks, std::size_t count);
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_;
  std::size_t pending_size_;
  std::uint64_t total_bytes_;
};

std::array<std::uint8_t, 32> sha256(std::string_view text);
std::string sha256_hex(std::string_view text);
/// Streams the file. Throws std::runtime_error naming the path if it cannot be read.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace dooly::oracle
