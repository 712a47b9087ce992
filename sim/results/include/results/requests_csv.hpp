#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/file_sink.hpp"
#include "results/finished_request.hpp"

namespace dooly::results {

class WaitingRows;

/// Names that rows refer to by number; asked when a row is written. The texts are copied.
struct RowNames {
  std::function<std::string(std::uint16_t)> request_class;
  std::function<std::string(std::uint16_t)> pool;
  std::function<std::string(std::uint16_t)> reason = {};  ///< a Recorder sets it
};

/// requests.csv: rows by arrival, then id, though requests finish in another order. A row waits in memory until all
/// earlier ones are written; what is more than `window` rows ahead of the oldest missing one waits in a temporary file
/// beside the csv, so memory is bounded. Failures to write are kept as in FileSink.
class RequestsCsv {
 public:
  static constexpr std::size_t kWindow = std::size_t{1} << 18;  // 32 MB of rows

  /// Throws WriteFailed if the file cannot be opened. `window` must be a power of two.
  RequestsCsv(const std::filesystem::path& path, RowNames names, std::size_t window = kWindow);
  ~RequestsCsv();
  RequestsCsv(const RequestsCsv&) = delete;
  RequestsCsv& operator=(const RequestsCsv&) = delete;

  static const std::string_view kHeader;

  /// Throws std::logic_error if the same row comes twice.
  void put(const FinishedRequest& request);
  /// All rows 0 … count - 1 must have come; throws std::logic_error naming the first that did not.
  void finish(std::uint64_t count);

  void name_reasons(std::function<std::string(std::uint16_t)> names) { names_.reason = std::move(names); }

  FileSink& sink() { return sink_; }
  const FileSink& sink() const { return sink_; }

 private:
  struct Region {
    std::uint64_t begin, end;
  };
  void write(const FinishedRequest& request);
  void track_ties(const FinishedRequest& request);
  void sort_region(Region region);
  std::string_view name(std::deque<std::string>& cache, const std::function<std::string(std::uint16_t)>& names,
                        std::uint16_t number);

  FileSink sink_;
  RowNames names_;
  // as CSV fields, empty: not asked yet; deques, for a row holds views of several names while it asks for more
  std::deque<std::string> classes_, pools_, reasons_;
  std::unique_ptr<WaitingRows> waiting_;
  // rows with equal arrival, to be sorted by id at the end where the source's order was another
  double tie_arrival_s_ = kUndefined;
  std::uint64_t tie_id_ = 0;
  std::uint64_t tie_begin_ = 0;
  bool tie_unsorted_ = false;
  std::vector<Region> unsorted_;
};

}  // namespace dooly::results
