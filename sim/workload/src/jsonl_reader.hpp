#pragma once

#include "json_scanner.hpp"
#include "line_reader.hpp"
#include "trace_format.hpp"

#include <optional>
#include <string>

namespace dooly::workload {

/// Rows of a file with one JSON object a line, in a row format.
class JsonLinesReader : public TraceReader {
 public:
  /// `first` is the line that `lines` gave last; it is the first row.
  JsonLinesReader(LineReader lines, std::string_view first, const TraceFormat& format, std::uint32_t block_size,
                  bool truncated);
  bool next(TraceRow& row) override;

 private:
  void parse(std::string_view line, TraceRow& row);
  void set_array(TraceRow& row, const FieldRule& rule, std::string_view text);

  std::optional<LineReader> lines_;  ///< moved in once the views into it are copied
  std::string first_;  ///< kept until read
  bool at_first_ = true;
  const TraceFormat& format_;
  FieldSetter setter_;
  std::uint32_t block_size_;
  std::uint64_t rows_ = 0;
  std::uint64_t first_line_;
};

}  // namespace dooly::workload
