#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/file_sink.hpp"

namespace dooly::results {

/// One iteration of one replica. Times in seconds.
struct IterationRow {
  std::uint32_t pool = 0;
  std::uint32_t replica = 0;
  std::uint64_t iteration = 0;  ///< 0, 1, 2 … per replica
  double start_s = 0;           ///< its scheduling began
  double end_s = 0;             ///< its result was processed
  std::uint32_t requests = 0;
  std::uint32_t decodes = 0;    ///< of them
  std::uint32_t tokens = 0;
  std::uint32_t prefill_tokens = 0;
  std::uint64_t context_tokens = 0;  ///< already in the cache, summed over the requests
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint32_t kv_blocks = 0;  ///< in use
  std::uint32_t preempted = 0;
  double token_ops_s = 0, attention_s = 0, collective_s = 0, other_s = 0;               ///< device
  double schedule_s = 0, launch_s = 0, sample_s = 0, update_s = 0, delivery_s = 0;      ///< host
};

/// iterations.csv, rows in the order in which they are added. Failures to write are kept as in FileSink.
class IterationLog {
 public:
  /// Throws WriteFailed if the file cannot be opened.
  IterationLog(std::filesystem::path path, std::vector<std::string> pools);
  static const std::string_view kHeader;
  void add(const IterationRow& row);
  FileSink& sink() { return sink_; }

 private:
  FileSink sink_;
  std::vector<std::string> pools_;  ///< as CSV fields
};

}  // namespace dooly::results
