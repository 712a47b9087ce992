#pragma once

#include "profiling_engine/model.hpp"
#include "profiling_engine/sequence_book.hpp"

#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// Inputs of decode steps at addresses that captured graphs know. As vLLM does, requests that fill a batch up have no
/// tokens: their queries end where the last one does, their length is 0 and their slot -1.
class GraphInputs {
 public:
  /// For batches of up to `most` requests.
  GraphInputs(const Model& model, const StepSettings& settings, std::int64_t most);

  /// What a graph of `requests` reads. `rows` is undefined: logits are not part of the graph.
  StepInputs view(std::int64_t requests) const;
  /// One token of each part, filled up to `padded` requests: two copies a group of layers, at most.
  void write(const std::vector<ScheduledPart>& parts, std::int64_t padded);

  // Of the batch written last, int64:
  at::Tensor rows() const { return longs(kRows, rows_); }      ///< whose logits are wanted
  at::Tensor tags() const { return longs(kTags, rows_); }      ///< who they are
  at::Tensor places() const { return longs(kPlaces, pending_); }  ///< tokens whose ids are on the device
  at::Tensor from() const { return longs(kFrom, pending_); }      ///< whose they are

 private:
  enum Region : std::uint8_t { kIds, kPositions, kRows, kTags, kPlaces, kFrom, kRegions };
  enum Half : std::uint8_t { kLengths, kStarts, kHalves };  ///< int32, of each group
  struct Host;

  std::int64_t slots_offset(std::int64_t group) const { return (kRegions + group) * most_; }
  std::int64_t half_offset(std::int64_t group, Half half) const {
    return slots_offset(groups_) + (group * kHalves + half) * half_words_;
  }
  at::Tensor longs(Region region, std::int64_t count) const { return words_.narrow(0, region * most_, count); }
  at::Tensor ints(std::int64_t group, Half half, std::int64_t count) const;
  void write_group(const std::vector<ScheduledPart>& parts, std::int64_t padded, std::int64_t group,
                   std::int64_t* words) const;
  void write_table(const std::vector<ScheduledPart>& parts, std::int64_t group);

  std::int64_t most_, groups_, block_size_, positions_, half_words_;
  bool is_latent_;
  c10::Device device_;
  at::Tensor words_;                ///< all but the block tables, so that one copy brings them
  std::vector<at::Tensor> tables_;  ///< int32 [most, blocks of the longest] a group
  std::int64_t rows_ = 0, pending_ = 0;
};

}  // namespace dooly::profiling
