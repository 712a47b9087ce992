#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/step_cost.hpp"

#include <cstdint>
#include <vector>

namespace dooly::replica {

/// One request's part in a batch that is listed by itself (prefill chunks, first decodes, irregular ones).
struct BatchEntry {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  ///< of the slot: a later request in it is somebody else
  std::uint32_t tokens = 0;      ///< 0: taken back
  std::uint64_t order = 0;       ///< place in the running list
  bool samples = false;          ///< yields an output token
};

/// What one scheduling call decided. Steady decodes are a count; everybody else is listed.
struct Batch {
  std::uint64_t call = 0;                        ///< number of the scheduling call, from 0
  std::uint32_t decodes = 0;                     ///< steady decodes that will yield a token
  std::vector<std::uint32_t> decodes_by_class;   ///< empty while only class 0 has been seen
  std::vector<BatchEntry> entries;               ///< in scheduling order
  std::vector<BatchEntry> ending;                ///< of the steady decodes, those that end with this batch
  std::vector<BatchEntry> detached;  ///< were steady decodes when scheduled and have been preempted since
  std::uint32_t tokens = 0;
  std::uint64_t context_after = 0;  ///< sum of (computed + scheduled) tokens
  std::uint32_t running = 0, waiting = 0;  ///< queue lengths after the call

  oracle::BatchShape shape;  ///< shape.prefills points into `chunks`
  std::vector<oracle::PrefillChunk> chunks;

  double start_s = 0;  ///< the loop came round
  double ready_s = 0;  ///< its result is there
  double update_s = 0;  ///< host time to process the result
  double delivery_s = 0;
  double device_s = 0;
  oracle::StepCost cost;  ///< kept only while somebody listens to iterations
  std::uint32_t preempted = 0;
  bool pure_decode() const { return entries.empty() && ending.empty() && detached.empty(); }
};

/// A request's news in one batch's result.
struct ResultEvent {
  std::uint32_t tag = 0;
  std::uint16_t request_class = 0;
  bool first = false;
  bool finished = false;
  bool steady = false;  ///< its gap is among the batch's `decodes`
  double previous_token_s = 0;  ///< client time of the token before; meaningless if `first`
  std::uint32_t output = 0;  ///< tokens produced so far
  std::uint32_t preemptions = 0;
};

}  // namespace dooly::replica
