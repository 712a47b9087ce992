#pragma once

#include <cstdint>

namespace dooly::sdk {

/// Names a request for as long as it lives; valid within one simulation.
enum class RequestId : std::uint32_t {};
inline constexpr RequestId kNoRequest{0xFFFFFFFFU};

/// What a policy may know about one request. All counts are tokens unless the name says otherwise.
struct RequestView {
  RequestId id = kNoRequest;
  std::uint32_t prompt = 0;
  std::uint32_t generated = 0;   ///< output tokens known so far
  std::uint32_t computed = 0;    ///< tokens that have, or will have once the batches in flight are done, a KV entry
  std::uint32_t in_flight = 0;  ///< tokens sampled in batches whose result is not known yet (asynchronous scheduling)
  std::uint32_t output = 0;  ///< true output length where the scenario grants it to policies, else 0
  std::uint32_t blocks = 0;  ///< KV blocks held
  std::uint32_t preemptions = 0;
  std::int32_t priority = 0;  ///< lower is more urgent
  std::uint16_t request_class = 0;
  bool decoding = false;  ///< needs just the KV entry of its one last known token
  double arrival_s = 0;
  double deadline_s = 0;  ///< 0: none

  /// Tokens still to be computed before the next output token can be sampled.
  std::uint32_t remaining() const { return prompt + generated + in_flight - computed; }
};

}  // namespace dooly::sdk
