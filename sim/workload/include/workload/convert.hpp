#pragma once

#include "workload/request_source.hpp"
#include "workload/trace_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace dooly::workload {

struct ConvertOptions {
  std::filesystem::path input = {};
  std::string format = {};   ///< empty: detected
  bool sort =
      false;    ///< accept rows in any order (the whole file is then held in memory); turns stay with their session
  TraceWriter::Encoding encoding = TraceWriter::Encoding::kCsv;
};

/// Writes any trace that has arrival times as a dooly-trace; returns the number of rows. Throws WorkloadError.
std::uint64_t convert_trace(const ConvertOptions& options, std::ostream& out);

/// Writes a whole stream as a dooly-trace as if every request were answered the moment it is sent; returns the number
/// of rows. A run that exports what it really received drives a TraceWriter itself.
std::uint64_t export_workload(RequestSource& source, TraceWriter::Encoding encoding, std::ostream& out);

}  // namespace dooly::workload
