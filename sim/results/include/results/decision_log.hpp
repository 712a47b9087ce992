#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/file_sink.hpp"

namespace dooly::results {

/// Tokens given to one request in one scheduling call.
struct ScheduledTokens {
  std::uint64_t request = 0;   ///< its id in the workload
  std::uint32_t tokens = 0;
  std::uint32_t computed = 0;  ///< before the call
};

/// One scheduling call of one replica. Requests are named by their ids in the workload.
struct DecisionRow {
  std::uint32_t pool = 0;
  std::uint32_t replica = 0;
  std::uint64_t call = 0;  ///< 0, 1, 2 … per replica
  double time_s = 0;
  std::span<const ScheduledTokens> scheduled;    ///< in the order of the batch
  std::span<const std::uint64_t> admitted;       ///< from waiting to running
  std::span<const std::uint64_t> preempted;
  std::uint32_t running = 0, waiting = 0;        ///< afterwards
  std::uint32_t free_blocks = 0;                 ///< afterwards
  std::span<const std::string> why;              ///< what the policy explained
};

/// decisions.jsonl, one object a line in the order in which they are added:
/// {"pool":"main","replica":0,"call":0,"time_s":0.5,"scheduled":[[id,tokens,computed],…],"admitted":[…],
/// "preempted":[…],"running":1,"waiting":0,"free_blocks":10,"why":["…"]}. Failures to write are kept as in FileSink.
class DecisionLog {
 public:
  /// Throws WriteFailed if the file cannot be opened.
  DecisionLog(std::filesystem::path path, const std::vector<std::string>& pools);
  void add(const DecisionRow& row);
  FileSink& sink() { return sink_; }

 private:
  void member(std::string_view name, std::uint64_t value);
  FileSink sink_;
  std::vector<std::string> pools_;  ///< as JSON strings
  std::string line_;
};

}  // namespace dooly::results
