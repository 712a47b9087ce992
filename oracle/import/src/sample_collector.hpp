#pragma once

#include "oracle/gpu.hpp"
#include "oracle/sample_set.hpp"
#include "oracle_import/import_report.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dooly::import_ {

/// Figures of one row, seconds; 0: the row does not say.
struct Timing {
  double median = 0, mean = 0, min = 0, std = 0, p10 = 0, p90 = 0;
  std::uint32_t count = 0;
};
inline Timing single(double seconds, std::uint32_t count = 1) {
  return {.median = seconds, .mean = seconds, .count = count};
}

// Points of oracle/sample.hpp.
inline oracle::SamplePoint rows_point(std::uint64_t rows) { return {rows}; }
inline oracle::SamplePoint prefill_point(std::uint64_t sequences, std::uint64_t query, std::uint64_t context) {
  return {sequences, query, context};
}
inline oracle::SamplePoint decode_point(std::uint64_t sequences, std::uint64_t context) {
  return {0, 0, 0, sequences, context};
}
inline oracle::SamplePoint bytes_point(std::uint64_t bytes, std::uint64_t ranks) { return {bytes, ranks}; }

/// Gathers what importers read, checks it, and hands it over in order. Checks and their rules: docs/importing.md.
class SampleCollector {
 public:
  enum class Key : std::uint32_t {};
  explicit SampleCollector(ImportReport& report) : report_(&report) {}

  // --- where the next samples come from
  void begin_file(const std::string& shown);
  void line(std::uint64_t line) {
    line_ = line;
    ++report_->rows;
  }
  void environment(const oracle::Environment& environment);
  void model(const std::string& name);

  // --- what they are
  /// Samples of a key with a number format that nobody knows are dropped, each reported.
  Key key(const oracle::OperatorKey& key);
  void add(Key key, const oracle::SamplePoint& point, const Timing& timing, std::string_view kernel = {});
  /// The current row, or part of it, is not taken.
  void drop(const std::string& reason, std::string_view value);
  /// Something to know about the current row, which is taken.
  void remark(const std::string& reason, std::string_view value);

  /// Merges, checks, hands over; the collector is empty afterwards.
  void finish(oracle::SampleSink& sink);

 private:
  struct Entry {
    oracle::SamplePoint point;
    Timing timing;
    std::uint32_t file, line;
    std::uint32_t kernel;
  };
  struct Bucket {
    std::uint32_t environment, key;
    std::vector<Entry> entries;
  };
  struct Merged {
    oracle::Sample sample;
    std::uint32_t file, line;
  };
  Bucket& bucket(std::uint32_t key);
  std::uint32_t kernel_id(std::string_view kernel);
  void find(const std::string& reason, bool dropped, std::uint32_t file, std::uint64_t line, std::string_view value);
  void suspect(Merged& merged, const std::string& reason, const std::string& detail);
  std::vector<Merged> merged(Bucket& bucket, const oracle::OperatorKey& key);
  Merged merge(const Entry* first, const Entry* last);
  Merged take(const Entry& entry);
  void check_neighbours(std::vector<Merged>& samples, const oracle::OperatorKey& key);
  void check_limit(std::vector<Merged>& samples, const oracle::OperatorKey& key, const oracle::Gpu* gpu);
  void report_shared();

  ImportReport* report_;
  std::vector<std::string> files_, models_, kernels_{""};
  std::unordered_map<std::string, std::uint32_t> kernel_ids_, key_ids_, environment_ids_;  // looked up, never walked
  std::unordered_map<std::uint64_t, std::uint32_t> bucket_ids_;
  std::vector<oracle::OperatorKey> keys_;
  std::vector<std::set<std::string>> key_models_;
  std::vector<std::uint64_t> key_samples_;
  std::vector<std::string> unknown_dtypes_;  ///< of each key, empty: all are known
  std::vector<oracle::Environment> environments_;
  std::vector<Bucket> buckets_;
  std::uint32_t environment_ = 0;
  std::string model_;
  std::uint64_t line_ = 0;
  std::uint32_t last_bucket_ = 0;
};

}  // namespace dooly::import_
