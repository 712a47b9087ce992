#include "oracle/text_file.hpp"

#include "oracle/oracle_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace dooly::oracle {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw OracleError(fmt::format("{}: {}", path.string(), what));
}

std::string reason() { return fmt::format("cannot be read: {}", std::strerror(errno)); }

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30 && bytes % (std::uint64_t{1} << 30) == 0)
    return fmt::format("{} GiB", bytes >> 30);
  if (bytes >= std::uint64_t{1} << 20 && bytes % (std::uint64_t{1} << 20) == 0)
    return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} bytes", bytes);
}

std::FILE* open_for_reading(const std::filesystem::path& path) {
  // Without O_NONBLOCK opening a pipe waits for a writer, perhaps for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  std::FILE* file = ::fcntl(descriptor, F_SETFL, 0) == 0 ? ::fdopen(descriptor, "rb") : nullptr;
  if (file == nullptr) ::close(descriptor);
  return file;
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, "is a directory, not a file");
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(open_for_reading(path), close);
  if (!file) fail(path, reason());
  std::string text;
  std::size_t used = 0;
  do {
    text.resize(std::clamp<std::uint64_t>(2 * used, 1u << 16, limit + 1));
    const std::size_t got = std::fread(text.data() + used, 1, text.size() - used, file.get());
    if (std::ferror(file.get())) fail(path, reason());
    used += got;
    if (used > limit) fail(path, fmt::format("larger than {}, the most that is read", size_text(limit)));
  } while (used == text.size());
  text.resize(used);
  return text;
}

}  // namespace dooly::oracle
