#pragma once

#include "oracle_store/record.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dooly::store {

/// One record on two sides; a null pointer: not there. Both: they differ.
struct Difference {
  const Record* left = nullptr;
  const Record* right = nullptr;
  const oracle::OperatorKey* key = nullptr;  ///< of a sample, if either side holds it
};

struct DiffCounts {
  std::uint64_t equal = 0, only_left = 0, only_right = 0, differ = 0;
  bool same() const { return only_left + only_right + differ == 0; }
};

/// Goes through both streams once; constant memory but for the keys.
DiffCounts diff(RecordStream& left, RecordStream& right, const std::function<void(const Difference&)>& report);

/// "- sample of ...", "+ ...", or "~ ...: median_s 1.2e-05 -> 1.3e-05 (+8.3 %), count 10 -> 20".
std::string difference_text(const Difference& difference);

enum class Prefer : std::uint8_t { kFirst, kLast };

struct MergeCounts {
  std::uint64_t records = 0;    ///< of the result
  std::uint64_t shared = 0;     ///< of those, in several inputs and equal
  std::uint64_t conflicts = 0;  ///< of those, in several inputs and different
};

/// Merges streams in order. Records of one identity that differ are a conflict: `report` gets the pair (the one from
/// the earlier input as `left`), the result the one that `prefer` says. `take` gets the records of the result, each
/// with the number of the first input that holds it so.
MergeCounts merge(const std::vector<RecordStream*>& inputs, Prefer prefer,
                  const std::function<void(const Record&, std::size_t input)>& take,
                  const std::function<void(const Difference&)>& report);

}  // namespace dooly::store
