#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace dooly::replica {

/// A stretch of a request's tokens that other requests may share. `key` is chained: it stands for everything from the
/// start of the prompt up to and including this stretch's content, so two requests share a prefix exactly as far as
/// their keys agree. The stretch begins where the one before ended and reaches to `end_token` (exclusive).
struct ContentSegment {
  static constexpr std::uint32_t kOpenEnd = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t key = 0;
  std::uint32_t end_token = 0;  ///< kOpenEnd: covers the outputs as well
  /// Nobody but this request looks this content up before the request has finished (a conversation's own text): the
  /// cache keeps it without per-block identity until then. Exclusive segments stand last.
  bool exclusive = false;
};

/// The shareable leading part of a request's token sequence. Tokens beyond the last segment are unique to the request.
using ContentPath = std::vector<ContentSegment>;

/// Chains `segment` (an identity of raw content, e.g. a trace's hash id or a session number) with `offset` (its first
/// token's position inside that content), following `parent` which is left at token `parent_end`. Use parent 0 at the
/// start.
std::uint64_t chain_key(std::uint64_t parent, std::uint32_t parent_end, std::uint64_t segment, std::uint32_t offset);

}  // namespace dooly::replica
