#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace dooly::workload {

/// The bytes of a file, unpacked while read: plain, gzip (all members) or zstd (all frames), told by the first bytes.
/// Memory use does not depend on the file's size.
class InputStream {
 public:
  struct Raw;    ///< packed bytes
  struct Codec;  ///< unpacks them

  /// Throws WorkloadError naming the path if it cannot be opened.
  static InputStream open(const std::filesystem::path& path);
  /// `name` stands for the path in errors.
  static InputStream from_memory(std::string name, std::string bytes);
  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;
  ~InputStream();

  /// Up to `size` bytes; 0 only at the end. Throws WorkloadError on I/O errors and on damaged or truncated archives.
  std::size_t read(char* into, std::size_t size);
  const std::string& name() const { return name_; }

 private:
  InputStream(std::string name, std::unique_ptr<Raw> raw);
  std::string name_;
  std::unique_ptr<Raw> raw_;
  std::unique_ptr<Codec> codec_;  ///< null: plain
};

}  // namespace dooly::workload
