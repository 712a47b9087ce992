#pragma once

#include "fd_buffer.hpp"

#include "files/whole_file.hpp"
#include "workload/trace_writer.hpp"

#include <filesystem>
#include <optional>
#include <ostream>

namespace dooly::cli {

/// Where a dooly-trace goes: a file that gets its name when it is complete, or stdout.
class TraceFile {
 public:
  using Encoding = workload::TraceWriter::Encoding;

  /// `path` empty: stdout. `encoding` empty: what the path ends in, .csv or .jsonl. Throws UsageError naming the path
  /// if it exists (unless `force`) or ends in something else, files::NameRefused if it cannot be written.
  TraceFile(const std::optional<std::filesystem::path>& path, bool force, std::optional<Encoding> encoding = {});

  Encoding encoding() const { return encoding_; }
  std::ostream& stream() { return stream_; }
  std::filesystem::path temporary() const { return file_ ? file_->temporary() : ""; }  ///< empty: nothing to remove
  bool failed() const { return buffer_.error() != 0; }
  /// Throws files::WriteFailed if anything got lost.
  void finish();

 private:
  Encoding encoding_;
  std::optional<files::WholeFile> file_;  ///< empty: stdout
  FdBuffer buffer_;
  std::ostream stream_;
};

}  // namespace dooly::cli
