#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::import_ {

/// Bytes of a file, unpacked if it is gzip. Throws ImportError naming the path.
std::string file_bytes(const std::filesystem::path& path);

/// Rows of a CSV file with a header (RFC 4180 quoting, CRLF and BOM allowed), held in memory: profiles are small.
/// Throws ImportError naming file and line for a row of another width.
class CsvTable {
 public:
  explicit CsvTable(const std::filesystem::path& path);
  CsvTable(std::string text, std::string name);

  const std::vector<std::string>& header() const { return header_; }
  bool has(std::string_view column) const { return find(column).has_value(); }
  std::optional<std::size_t> find(std::string_view column) const;
  /// Throws ImportError that names file and column.
  std::size_t column(std::string_view name) const;

  /// Moves to the next row; false at the end. Empty lines are passed over.
  bool next();
  std::string_view cell(std::size_t column) const { return cells_[column]; }
  std::uint64_t line() const { return line_; }
  const std::string& name() const { return name_; }  ///< of the file, for messages

 private:
  void read_cells();
  std::string_view read_quoted();
  void read_header();
  std::string name_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 0, lines_passed_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> cells_;
  std::vector<std::string> unquoted_;  ///< cells that needed unescaping; the first quoted_ are of this row
  std::size_t quoted_ = 0;
};

}  // namespace dooly::import_
