#pragma once

#include "line_reader.hpp"
#include "trace_format.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dooly::workload {

/// Splits lines of CSV. A quoted cell may hold commas and doubled quotes, but no line end.
class CsvSplitter {
 public:
  /// The cells point into `line` or into this object, until the next call. False: a quote is not closed or not at a
  /// cell's edge.
  bool split(std::string_view line, std::vector<std::string_view>& cells);

 private:
  std::string unquoted_;
};

/// Rows of a CSV file with a header, in a row format.
class CsvReader : public TraceReader {
 public:
  /// `header` is the line that `lines` gave last.
  CsvReader(LineReader lines, std::string_view header, const TraceFormat& format, std::uint32_t block_size,
            bool truncated);
  bool next(TraceRow& row) override;

 private:
  bool parse(std::string_view line, TraceRow& row);
  void read_header(std::string_view header);

  LineReader lines_;
  const TraceFormat& format_;
  FieldSetter setter_;
  CsvSplitter splitter_;
  std::vector<const FieldRule*> rules_;  ///< by column; null: passed over
  std::vector<std::string_view> cells_;
  std::uint32_t block_size_;
  std::uint64_t rows_ = 0;
};

}  // namespace dooly::workload
