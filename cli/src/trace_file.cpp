#include "trace_file.hpp"

#include "cli_error.hpp"
#include "new_file.hpp"

#include "files/errors.hpp"

#include <unistd.h>

#include <cstring>
#include <string>

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

std::optional<files::WholeFile> opened(const std::optional<fs::path>& path, bool force) {
  if (!path) return {};
  refuse_taken(*path, force);
  return std::optional<files::WholeFile>(std::in_place, *path);
}

}  // namespace

TraceFile::TraceFile(const std::optional<fs::path>& path, bool force, std::optional<Encoding> encoding)
    : encoding_(encoding ? *encoding : encoding_of(path.value_or(""))),
      file_(opened(path, force)),
      buffer_(file_ ? file_->descriptor() : STDOUT_FILENO),
      stream_(&buffer_) {}

void TraceFile::finish() {
  stream_.flush();
  if (!file_) {
    if (failed())
      throw files::WriteFailed(std::string("standard output: cannot write: ") + std::strerror(buffer_.error()));
    return;
  }
  if (failed()) file_->fail(buffer_.error());
  file_->finish();
}

}  // namespace dooly::cli
