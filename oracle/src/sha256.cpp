#include "oracle/sha256.hpp"

#include "oracle/text_file.hpp"
#include "sha256_blocks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace dooly::oracle {

void Sha256::reset() {
  state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  pending_size_ = 0;
  total_bytes_ = 0;
}

void Sha256::compress(const std::uint8_t* blocks, std::size_t count) {
  static const auto run = has_sha256_instructions() ? sha256_blocks_by_instructions : sha256_blocks_plainly;
  run(state_.data(), blocks, count);
}

Sha256& Sha256::update(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  total_bytes_ += size;
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(size, pending_.size() - pending_size_);
    std::memcpy(pending_.data() + pending_size_, from, taken);
    pending_size_ += taken, from += taken, size -= taken;
    if (pending_size_ < pending_.size()) return *this;
    compress(pending_.data(), 1);
    pending_size_ = 0;
  }
  compress(from, size / 64);
  from += size / 64 * 64, size %= 64;
  if (size > 0) std::memcpy(pending_.data(), from, size);
  pending_size_ = size;
  return *this;
}

std::array<std::uint8_t, 32> Sha256::finish() {
  const std::uint64_t bits = total_bytes_ * 8;
  std::uint8_t padding[72] = {0x80};
  const std::size_t zeros_end = (pending_size_ < 56 ? 56 : 120) - pending_size_;
  for (std::size_t i = 0; i < 8; ++i) padding[zeros_end + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  update(padding, zeros_end + 8);
  std::array<std::uint8_t, 32> digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  reset();
  return digest;
}

std::string Sha256::finish_hex() {
  std::string text;
  for (const std::uint8_t byte : finish()) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::array<std::uint8_t, 32> sha256(std::string_view text) { return Sha256{}.update(text).finish(); }

std::string sha256_hex(std::string_view text) { return Sha256{}.update(text).finish_hex(); }

std::string sha256_file(const std::filesystem::path& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(open_for_reading(path), close);
  if (!file) throw std::runtime_error(path.string() + ": cannot read: " + std::strerror(errno));
  Sha256 hash;
  std::vector<char> buffer(1 << 16);
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    hash.update(buffer.data(), size);
  if (std::ferror(file.get())) throw std::runtime_error(path.string() + ": cannot read: " + std::strerror(errno));
  return hash.finish_hex();
}

}  // namespace dooly::oracle
