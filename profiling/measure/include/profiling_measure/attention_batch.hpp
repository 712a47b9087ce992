#pragma once

#include "oracle/sample.hpp"

#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// The requests of an attention point, in the order in which a running engine batches them: decodes, then prefills. The
/// long decodes are spread evenly among the others.
struct AttentionBatch {
  struct Request {
    std::uint64_t query = 0;  ///< tokens of this step
    std::uint64_t context = 0;  ///< tokens in the cache before it
  };
  std::vector<Request> requests;
  std::uint64_t tokens = 0;  ///< of the step
  std::uint64_t cached = 0;  ///< tokens in the cache after it
  std::uint64_t max_query = 0, max_sequence = 0;
};

/// Throws ProfilingError for a point without requests, or with more long decodes than decodes.
AttentionBatch attention_batch(const oracle::SamplePoint& point);

}  // namespace dooly::profiling
