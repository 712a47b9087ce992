#pragma once

#include "workload/trace_columns.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::workload {

/// One row of a trace as the file has it; times in seconds (azure, vllm-bench: since the first row).
struct TraceRow {
  std::uint64_t line = 0;  ///< 1-based, in the unpacked file
  std::uint64_t row = 0;   ///< 1-based, header and comments not counted
  std::optional<double> arrival_s;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::optional<std::uint64_t> id;
  std::string class_name;  ///< empty: none given
  std::optional<std::int32_t> priority;
  std::optional<std::uint64_t> session;
  std::optional<std::uint32_t> turn;
  std::optional<double> after_s;
  std::optional<double> deadline_s;
  std::optional<std::uint64_t> prefix_id;
  std::uint32_t prefix_tokens = 0;
  std::uint32_t block_size = 0;
  std::vector<std::uint64_t> block_ids;
};

/// Reads a trace of any format row by row; memory use does not depend on the file's size.
class TraceReader {
 public:
  virtual ~TraceReader() = default;

  /// False at the end; `row` is then undefined. Every field is checked alone and against the others of its row; order
  /// and links between rows are not. Throws WorkloadError `FILE:LINE: row N: field: …`.
  virtual bool next(TraceRow& row) = 0;

  /// Formats that say it in their header know it from the start, others (JSON Lines) when the first row was read.
  const TraceColumns& columns() const { return columns_; }
  std::string_view format() const { return format_; }
  /// Rows that the format marks as no request (burstgpt: response tokens 0, a failed request) and that were passed
  /// over.
  std::uint64_t skipped() const { return skipped_; }
  const std::string& name() const { return name_; }

  /// Throws WorkloadError about one field of `row`.
  [[noreturn]] void refuse(const TraceRow& row, std::string_view field, const std::string& why) const;

 protected:
  TraceReader(std::string name, std::string_view format) : name_(std::move(name)), format_(format) {}
  TraceColumns columns_;
  std::uint64_t skipped_ = 0;
  bool has_header_ = false;  ///< line and row number differ

 private:
  std::string name_;
  std::string format_;
};

/// azure mooncake burstgpt vidur llmservingsim sharegpt apex vllm-bench servegen dooly
const std::vector<std::string>& trace_formats();

/// `format` empty: detected from the first line or object. Throws WorkloadError if the file cannot be opened, is empty,
/// is of no known format or of another one than `format`. Format `servegen` has no rows to read: refused here.
std::unique_ptr<TraceReader> open_trace(const std::filesystem::path& path, std::string_view format = {});
/// The same for bytes in memory (plain, gzip or zstd); `name` stands for the path in messages.
std::unique_ptr<TraceReader> read_trace(std::string name, std::string bytes, std::string_view format = {});

/// The format of a file, by its content. Throws WorkloadError if it is none of the known ones.
std::string detect_format(const std::filesystem::path& path);

}  // namespace dooly::workload
