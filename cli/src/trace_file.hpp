#pragma once

#include "fd_buffer.hpp"

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
  /// if it exists (unless `force`), cannot be written, or ends in something else.
  TraceFile(const std::optional<std::filesystem::path>& path, bool force, std::optional<Encoding> encoding = {});
  /// Removes a file that was not finished.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  Encoding encoding() const { return encoding_; }
  std::ostream& stream() { return stream_; }
  const std::filesystem::path& temporary() const { return temporary_; }  ///< empty: stdout
  bool failed() const { return buffer_.error() != 0; }
  /// Throws results::WriteFailed if anything got lost.
  void finish();

 private:
  std::filesystem::path path_, temporary_;  ///< empty: stdout
  Encoding encoding_;
  int file_;
  FdBuffer buffer_;
  std::ostream stream_;
};

}  // namespace dooly::cli
