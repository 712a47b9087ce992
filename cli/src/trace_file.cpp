#include "trace_file.hpp"

#include "cli_error.hpp"

#include "results/errors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;
using Encoding = TraceFile::Encoding;

Encoding encoding_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".csv" || ending.empty()) return Encoding::kCsv;
  if (ending == ".jsonl") return Encoding::kJsonLines;
  throw UsageError(path.string() + ": a trace is written as CSV or JSON lines, got '" + ending +
                   "'; allowed: .csv, .jsonl");
}

int open_new(const fs::path& path, const fs::path& temporary, bool force) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw UsageError(path.string() + ": is a directory");
  if (!force && fs::exists(path, ignored)) throw UsageError(path.string() + ": exists already; --force replaces it");
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw UsageError(path.string() + ": cannot be written: " + std::strerror(errno));
  return file;
}

}  // namespace

TraceFile::TraceFile(const std::optional<fs::path>& path, bool force, std::optional<Encoding> encoding)
    : path_(path.value_or("")),
      temporary_(path ? path_.string() + ".tmp" : ""),
      encoding_(encoding ? *encoding : encoding_of(path_)),
      file_(path ? open_new(path_, temporary_, force) : STDOUT_FILENO),
      buffer_(file_),
      stream_(&buffer_) {}

TraceFile::~TraceFile() {
  if (temporary_.empty()) return;
  ::close(file_);
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void TraceFile::finish() {
  stream_.flush();
  const std::string name = path_.empty() ? "standard output" : path_.string();
  if (failed()) throw results::WriteFailed(name + ": cannot write: " + std::strerror(buffer_.error()));
  if (temporary_.empty()) return;
  if (::close(file_) != 0) throw results::WriteFailed(name + ": cannot write: " + std::strerror(errno));
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) throw results::WriteFailed(name + ": cannot write: " + error.message());
  temporary_.clear();
}

}  // namespace dooly::cli
