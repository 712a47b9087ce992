#include "trace_file.hpp"

#include "cli_error.hpp"

#include "results/errors.hpp"

#include <cerrno>
#include <cstring>
#include <iostream>
#include <system_error>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

TraceFile::Encoding encoding_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".csv" || ending.empty()) return TraceFile::Encoding::kCsv;
  if (ending == ".jsonl") return TraceFile::Encoding::kJsonLines;
  throw UsageError(path.string() + ": a trace is written as CSV or JSON lines, got '" + ending +
                   "'; allowed: .csv, .jsonl");
}

}  // namespace

TraceFile::TraceFile(const std::optional<fs::path>& path, bool force, std::optional<Encoding> encoding)
    : out_(&std::cout), encoding_(encoding.value_or(Encoding::kCsv)) {
  if (!path) {
    std::ios::sync_with_stdio(false);  // else every row is a write of its own
    return;
  }
  path_ = *path;
  if (!encoding) encoding_ = encoding_of(path_);
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) throw UsageError(path_.string() + ": is a directory");
  if (!force && fs::exists(path_, ignored)) throw UsageError(path_.string() + ": exists already; --force replaces it");
  temporary_ = path_;
  temporary_ += ".tmp";
  file_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!file_) throw UsageError(path_.string() + ": cannot be written: " + std::strerror(errno));
  out_ = &file_;
}

TraceFile::~TraceFile() {
  if (temporary_.empty()) return;
  file_.close();
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void TraceFile::finish() {
  errno = 0;
  out_->flush();
  if (file_.is_open()) file_.close();
  const std::string name = path_.empty() ? "standard output" : path_.string();
  if (!*out_) throw results::WriteFailed(name + ": cannot write: " + std::strerror(errno != 0 ? errno : EIO));
  if (path_.empty()) return;
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) throw results::WriteFailed(name + ": cannot write: " + error.message());
  temporary_.clear();
}

}  // namespace dooly::cli
