#pragma once

#include "input_stream.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::workload {

/// Lines of a text file: LF or CRLF, with or without a byte order mark and a last line end; blank lines are passed
/// over.
class LineReader {
 public:
  explicit LineReader(InputStream stream);

  /// False at the end. `line` stays valid until the next call. Throws WorkloadError for bytes that no text has and for
  /// lines above 64 MiB.
  bool next(std::string_view& line);
  /// 1-based, of the line given last.
  std::uint64_t number() const { return number_; }
  const std::string& name() const { return stream_.name(); }

 private:
  bool refill();
  void check_text(std::string_view line) const;

  InputStream stream_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace dooly::workload
