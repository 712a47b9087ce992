#include "gzip_lines.hpp"

#include "oracle/text_file.hpp"
#include "validate/validation.hpp"

#include <zlib.h>

#include <memory>

namespace dooly::validate {
namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{2} << 30;  ///< decompressed

std::string read_all(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw MissingData(path.string() + ": no such file");
  std::string all;
  char buffer[1 << 16];
  int size = 0;
  while ((size = gzread(file.get(), buffer, sizeof buffer)) > 0) {
    all.append(buffer, static_cast<std::size_t>(size));
    if (all.size() > kLargestLog)
      throw ValidationError(path.string() + ": larger than " + oracle::size_text(kLargestLog) +
                            ", the most that is read");
  }
  int code = Z_OK;
  const char* what = gzerror(file.get(), &code);
  if (size < 0 || (code != Z_OK && code != Z_STREAM_END))
    throw ValidationError(path.string() + ": cannot be read: " + what);
  return all;
}

}  // namespace

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) throw MissingData(path.string() + ": no such file");
  const std::string all = read_all(path);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace dooly::validate
