#include "row_candidates.hpp"

#include "oracle/cuda_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace dooly::profiling {
namespace {

using Rows = std::vector<std::uint64_t>;

constexpr std::uint64_t kTile = 128;

/// `first`, `first` + `step`, ... up to `last`.
Rows stepped(std::uint64_t first, std::uint64_t step, std::uint64_t last) {
  Rows rows;
  for (std::uint64_t row = first; row <= last; row += step) rows.push_back(row);
  return rows;
}

/// Powers of two and what lies halfway, up to `last`.
Rows halves_of_octaves(std::uint64_t last) {
  Rows rows;
  for (std::uint64_t row = 1; row <= last; row *= 2) {
    rows.push_back(row);
    if (row >= 2) rows.push_back(row + row / 2);
  }
  return rows;
}

}  // namespace

RowCandidates::RowCandidates(const Operation& operation, const SweepLimits& limits) {
  const bool in_tiles = multiplies_matrices(operation.key) && operation.binding == oracle::Binding::kTokens;
  Rows captured;
  switch (operation.binding) {
    case oracle::Binding::kLogitsRows:
      largest_ = limits.max_sequences;
      add_level(halves_of_octaves(largest_));
      add_level(stepped(8, 8, largest_));
      break;
    case oracle::Binding::kDecodeTokens:
    case oracle::Binding::kPrefillTokens:
      largest_ = operation.binding == oracle::Binding::kDecodeTokens
                     ? limits.max_batched_tokens
                     : std::max(limits.max_context, limits.max_batched_tokens);
      add_level(halves_of_octaves(largest_));
      add_level(stepped(kTile, kTile, largest_));
      break;
    default: {
      largest_ = limits.max_batched_tokens;
      for (const std::uint32_t size :
           oracle::CudaGraphs::default_sizes(limits.max_sequences, limits.max_batched_tokens))
        captured.push_back(size);
      const std::uint64_t padded = captured.empty() ? 0 : captured.back();
      const std::uint64_t first = padded / kTile * kTile;
      Rows level = captured;
      for (const std::uint64_t row : stepped(first + 2 * kTile, 2 * kTile, largest_)) level.push_back(row);
      add_level(std::move(level));
      add_level(stepped(first + kTile, kTile, largest_));
      add_level(stepped(first + kTile + 1, kTile, largest_));
      add_level(stepped(first + kTile + kTile / 2, kTile, largest_));
      add_level(stepped(first + kTile + kTile / 2 + 1, kTile, largest_));
    }
  }
  start_ = {1, largest_};
  for (const std::uint64_t row : {16u, 64u, 256u, 1024u, 4096u})
    if (row * 3 / 2 <= largest_) start_.push_back(row);
  if (in_tiles)  // one row more than whole tiles shows how high steps are; between powers of two they could hide
    for (const std::uint64_t row : {512u, 1024u, 2048u, 4096u})
      if (row * 3 / 2 <= largest_) start_.insert(start_.end(), {row, row + 1});
  if (in_tiles)  // libraries choose another kernel for each of these sizes, not always a faster one, and steps ask for
                 // no other
    std::copy_if(captured.begin(), captured.end(), std::back_inserter(always_),
                 [&](std::uint64_t row) { return row >= 8 && row <= largest_; });
  start_.insert(start_.end(), always_.begin(), always_.end());
  std::sort(start_.begin(), start_.end());
  start_.erase(std::unique(start_.begin(), start_.end()), start_.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(2, levels_.size()); ++i)
    coarse_.insert(coarse_.end(), levels_[i].begin(), levels_[i].end());
  coarse_.insert(coarse_.end(), start_.begin(), start_.end());
  std::sort(coarse_.begin(), coarse_.end());
  coarse_.erase(std::unique(coarse_.begin(), coarse_.end()), coarse_.end());
}

void RowCandidates::add_level(std::vector<std::uint64_t> level) {
  std::erase_if(level, [&](std::uint64_t row) { return row < 1 || row > largest_; });
  std::sort(level.begin(), level.end());
  levels_.push_back(std::move(level));
}

std::optional<std::uint64_t> RowCandidates::between(std::uint64_t low, std::uint64_t high) const {
  const double middle = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
  for (const std::vector<std::uint64_t>& level : levels_) {
    std::optional<std::uint64_t> best;
    for (auto row = std::upper_bound(level.begin(), level.end(), low); row != level.end() && *row < high; ++row) {
      if (!best || std::abs(std::log(double(*row) / middle)) < std::abs(std::log(double(*best) / middle))) best = *row;
    }
    if (best) return best;
  }
  return std::nullopt;
}

}  // namespace dooly::profiling
