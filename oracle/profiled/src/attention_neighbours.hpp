#pragma once

#include "oracle/sample_set.hpp"

#include <string>
#include <vector>

namespace dooly::oracle {

/// Attention of heads that nobody measured, by samples of other heads. Everything else must be equal: head size, number
/// formats, family, window and the other attributes, but for the scale and sinks.
struct NeighbourSamples {
  std::vector<Sample> samples;
  std::string note;  ///< "from 32 heads, 8 of the KV cache"; empty: there is no such neighbour
};

/// What is stated at least for attention from a neighbour; errors measured: docs/predicting.md.
inline constexpr double kNeighbourError = 0.2;
/// Heads may differ by so much.
inline constexpr double kHeadsReach = 8;

/// A kernel does not know which sequence a head belongs to: n sequences of h heads are cut into the same blocks as 2n
/// of h ÷ 2. So a sample of the neighbour counts for as many sequences (decodes by heads of the KV cache, chunks by
/// heads) as make the same number of heads, where that is a whole number; its time stays. For a single sequence that is
/// not reached so, the time beyond the neighbour's least one is scaled by the heads. Batches with chunks and decodes
/// count where both have the same ratio. The neighbour is the set whose heads for each head of the cache are nearest,
/// then whose heads are.
NeighbourSamples attention_of_other_heads(const std::vector<SampleSet>& sets, const OperatorKey& wanted);

}  // namespace dooly::oracle
