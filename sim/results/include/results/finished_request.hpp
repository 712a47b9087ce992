#pragma once

#include <cstdint>
#include <limits>

namespace dooly::results {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::uint16_t kNoPool = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::uint64_t kNoId = std::numeric_limits<std::uint64_t>::max();

enum class RequestStatus : std::uint8_t { kCompleted, kRejected, kFailed, kUnfinished };

/// All that is reported of one request; times are seconds of simulated time, kUndefined where they never came.
struct FinishedRequest {
  std::uint64_t row = 0;  ///< 0, 1, 2 … in the order in which the source gave the requests; each exactly once
  std::uint64_t id = 0;
  std::uint64_t session = kNoId;
  double arrival_s = 0;
  double queued_s = kUndefined;  ///< the engine loop has taken it up
  double scheduled_s = kUndefined;
  double first_token_engine_s = kUndefined;
  double first_token_s = kUndefined;
  double finish_engine_s = kUndefined;  ///< the engine has updated the request for the last time
  double finish_s = kUndefined;         ///< the client holds the last token (or learns that there will be none)
  double transfer_wait_s = kUndefined;  ///< KV transfer: from the prefill's end to the start of its flow
  double transfer_s = kUndefined;       ///< KV transfer: the flow itself
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t output_tokens = 0;  ///< produced
  std::uint32_t preemptions = 0;
  std::uint32_t replica = 0;         ///< within the pool
  std::uint32_t decode_replica = 0;  ///< within the decode pool
  std::uint16_t pool = kNoPool;      ///< index; kNoPool: was never routed
  std::uint16_t decode_pool = kNoPool;
  std::uint16_t request_class = 0;
  std::uint16_t reason = 0;  ///< of Recorder::reason(); 0: none
  RequestStatus status = RequestStatus::kCompleted;

  double ttft_s() const { return first_token_s - arrival_s; }
  double e2e_s() const { return finish_s - arrival_s; }
  double queue_s() const { return scheduled_s - arrival_s; }
  /// Undefined for fewer than two tokens.
  double tpot_s() const { return output_tokens < 2 ? kUndefined : (finish_s - first_token_s) / (output_tokens - 1); }
};

}  // namespace dooly::results
