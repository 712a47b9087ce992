#pragma once

#include "workload/request_source.hpp"
#include "workload/trace_columns.hpp"

#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dooly::workload {

/// Writes requests as a dooly-trace. Reading that gives the same requests again, with the same ids, arrivals to the
/// last bit, and shared content. Requests of a closed loop are written at the times at which they were sent; turns that
/// wait for an answer keep the gap after it (`after_s`) and stand right behind the first turn of their session.
///
/// To stand so they are kept in memory until their session and all earlier ones have ended: tell `ended`, or wait for
/// `finish`. Without such sessions nothing is kept. Check the stream's state yourself.
class TraceWriter {
 public:
  enum class Encoding { kCsv, kJsonLines };

  /// `columns`: of the source, which says what its requests may carry. Writes the header.
  TraceWriter(std::ostream& out, Encoding encoding, const TraceColumns& columns);

  /// In the order of arrival. Before the source's next call (`block_ids` live there).
  void add(const Request& request, std::string_view class_name);
  /// No further turn of this session will come. Need not be called.
  void ended(std::uint64_t session);
  /// Writes what was kept. Call once, at the end.
  void finish();
  std::uint64_t rows() const { return rows_; }

 private:
  struct Group {
    std::string text;
    bool is_open = false;
  };
  void header();
  void append_csv(const Request& request, std::string_view class_name, bool waits);
  void append_json(const Request& request, std::string_view class_name, bool waits);
  void flush_ended();

  std::ostream& out_;
  Encoding encoding_;
  TraceColumns columns_;
  std::string line_;  ///< reused
  std::deque<Group> groups_;  ///< kept, in order of their first rows
  std::uint64_t first_group_ = 0;  ///< number of groups_.front()
  std::unordered_map<std::uint64_t, std::uint64_t> group_of_session_;
  std::uint64_t rows_ = 0;
};

}  // namespace dooly::workload
