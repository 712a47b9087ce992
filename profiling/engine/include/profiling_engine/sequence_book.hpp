#pragma once

#include "profiling_engine/step_inputs.hpp"

#include "replica_core/call_record.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace dooly::profiling {

/// One request's part in a scheduled batch.
struct ScheduledPart {
  std::uint32_t tag = 0;
  StepSequence sequence;
  /// The last of its tokens has been sampled by a step whose result nobody has read yet: its id stands for nothing and
  /// has to be taken from the device.
  bool last_is_pending = false;
};

/// What a model runner has to remember of requests between steps: their tokens and block tables. Follows the
/// scheduler's decisions, call by call.
class SequenceBook {
 public:
  explicit SequenceBook(std::size_t groups) : groups_(groups) {}
  void open(std::uint32_t tag, std::vector<std::int64_t> prompt);
  void close(std::uint32_t tag) { sequences_.erase(tag); }
  /// The parts of a call's batch in its order: running requests, then admitted ones. Needs a cache that keeps block ids
  /// (make_block_kv_cache). Throws std::logic_error if the record does not fit what the book knows.
  std::vector<ScheduledPart> apply(const replica::CallRecord& call);
  void add_token(std::uint32_t tag, std::int64_t id);
  const std::vector<std::int64_t>& tokens(std::uint32_t tag) const { return sequences_.at(tag).tokens; }
  std::size_t prompt(std::uint32_t tag) const { return sequences_.at(tag).prompt; }

 private:
  struct Sequence {
    std::size_t prompt = 0;
    std::vector<std::int64_t> tokens;  ///< prompt and outputs known
    std::size_t pending = 0;  ///< outputs sampled and not read
    std::vector<std::vector<std::uint32_t>> blocks;
  };
  ScheduledPart part(std::uint32_t tag, std::uint32_t tokens, std::uint32_t computed);

  std::size_t groups_;
  std::unordered_map<std::uint32_t, Sequence> sequences_;
};

}  // namespace dooly::profiling
