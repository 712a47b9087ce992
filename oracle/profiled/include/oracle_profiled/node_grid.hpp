#pragma once

#include "oracle_profiled/answer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace dooly::oracle {

/// Measured times at scattered points of a plane, made a full grid: nodes nobody measured get the base function scaled
/// by the ratio of the measured times to it, interpolated along their row and held beyond its ends. Made monotone in
/// both coordinates, unless the base is known to fall.
struct NodeGrid {
  struct Time {
    double seconds = 0, error = 0;  ///< relative, of the measurement itself
    std::size_t count = 0;
    void add(double more_seconds, double more_error);  ///< both are then means
  };
  using Measured = std::map<std::pair<double, double>, Time>;  ///< by (u, x)
  using Base = std::function<double(double u, double x)>;

  std::vector<double> u, x;       ///< nodes, ascending
  std::vector<double> seconds;    ///< by u, then x
  std::vector<Origin> origin;     ///< of each node: measured, interpolated or extrapolated
  /// Of measured nodes theirs, or what being made monotone adds; of others what being extrapolated does.
  std::vector<float> error;

  std::size_t at(std::size_t i, std::size_t j) const { return i * x.size() + j; }
  bool empty() const { return seconds.empty(); }

  enum class Monotone : std::uint8_t { kBoth, kInX, kNot };
  /// `more_u`, `more_x`: nodes beside the measured ones (ends of the range, places where the base bends). At least one
  /// measured point.
  static NodeGrid build(const Measured& measured, const Base& base, const std::vector<double>& more_u,
                        const std::vector<double>& more_x, Monotone monotone = Monotone::kBoth);
};

/// Index i of the cell [nodes[i], nodes[i+1]] that holds x: 0 below the first node, the last cell beyond the end.
inline std::size_t cell_of(const std::vector<double>& nodes, double x) {
  std::size_t low = 0, size = nodes.size() - 1;  // cells
  while (size > 1) {
    const std::size_t half = size / 2;
    low += nodes[low + half] <= x ? half : 0;
    size -= half;
  }
  return low;
}

/// cell_of() in constant time, for nodes that are asked often: numbers that share exponent and first bits begin the
/// search at the same node.
class CellIndex {
 public:
  CellIndex() = default;
  /// At least two nodes, ascending, none negative.
  explicit CellIndex(const std::vector<double>& nodes);
  /// `nodes` are those of the constructor.
  std::size_t cell_of(const std::vector<double>& nodes, double x) const {
    const std::uint64_t place = x > 0 ? std::bit_cast<std::uint64_t>(x) >> shift_ : 0;
    std::size_t cell = first_cell_[place <= first_ ? 0 : std::min(place, last_) - first_];
    while (cell + 2 < nodes.size() && nodes[cell + 1] <= x) ++cell;
    return cell;
  }

 private:
  int shift_ = 63;  ///< bits that are passed over
  std::uint64_t first_ = 0, last_ = 0;  ///< what is left of the least node above 0, and of the last
  std::vector<std::uint32_t> first_cell_{0};  ///< of the least number that shares those bits
};

}  // namespace dooly::oracle
