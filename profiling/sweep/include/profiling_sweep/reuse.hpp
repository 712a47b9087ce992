#pragma once

#include "oracle/operator_key.hpp"
#include "profiling_sweep/operation.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace dooly::profiling {

/// What one model needs, run in one way.
struct Demand {
  std::string model, backend;
  std::uint32_t tensor_parallel = 1;
  std::vector<Operation> operations;
};

/// Who shares measurements with whom: each signature is measured once, for the first that needs it.
struct ReuseTable {
  struct Row {
    std::string model, backend;
    std::uint32_t tensor_parallel = 1;
    std::size_t signatures = 0;  ///< distinct ones of this row
    std::size_t measured = 0;    ///< of those, in the store already
    std::size_t shared = 0;      ///< of those, to be measured for an earlier row
    std::size_t fresh = 0;       ///< the rest: measured for this row
  };
  std::vector<Row> rows;
  std::size_t signatures = 0;  ///< sum over the rows
  std::size_t unique = 0;      ///< distinct ones of all rows
  std::size_t measured = 0;    ///< distinct ones in the store already
  std::vector<Operation> missing;  ///< to be measured, in order of first need

  /// Share of all signatures of all rows that need no measuring of their own.
  double reused() const {
    return signatures > 0 ? 1 - static_cast<double>(unique) / static_cast<double>(signatures) : 0;
  }
};

/// Collectives are left out: they are measured by several GPUs together.
ReuseTable reuse_table(const std::vector<Demand>& demands, const std::set<oracle::Signature>& measured);

}  // namespace dooly::profiling
