#include "oracle_profiled/node_grid.hpp"

#include "oracle_profiled/work_curve.hpp"

#include <cmath>
#include <set>

namespace dooly::oracle {
namespace {

struct Ratio {
  double x, ratio;
};

double doublings(double from, double to) { return std::abs(std::log2((to + 1) / (from + 1))); }

/// Ratio along one measured row: linear in log(1 + x), held beyond the ends.
double ratio_at(const std::vector<Ratio>& row, double x, Origin& origin, double& beyond) {
  beyond = 0;
  if (x <= row.front().x || x >= row.back().x) {
    const Ratio& end = x <= row.front().x ? row.front() : row.back();
    origin = x == end.x ? Origin::kMeasured : Origin::kExtrapolated;
    beyond = doublings(end.x, x);
    return end.ratio;
  }
  std::size_t k = 1;
  while (row[k].x < x) ++k;
  origin = row[k].x == x ? Origin::kMeasured : Origin::kInterpolated;
  if (row[k].x == x) return row[k].ratio;
  const double part = doublings(row[k - 1].x, x) / doublings(row[k - 1].x, row[k].x);
  return row[k - 1].ratio + (row[k].ratio - row[k - 1].ratio) * part;
}

void make_monotone_in_x(NodeGrid& grid) {
  for (std::size_t i = 0; i < grid.u.size(); ++i) make_monotone(&grid.seconds[grid.at(i, 0)], grid.x.size());
}

void make_monotone_in_both(NodeGrid& grid) {
  const std::size_t rows = grid.u.size(), columns = grid.x.size();
  for (int pass = 0; pass < 3; ++pass) {
    for (std::size_t i = 0; i < rows; ++i) make_monotone(&grid.seconds[grid.at(i, 0)], columns);
    for (std::size_t j = 0; j < columns; ++j) make_monotone(&grid.seconds[j], rows, columns);
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 1; j < columns; ++j)
      grid.seconds[grid.at(i, j)] = std::max(grid.seconds[grid.at(i, j)], grid.seconds[grid.at(i, j - 1)]);
  for (std::size_t i = 1; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      grid.seconds[grid.at(i, j)] = std::max(grid.seconds[grid.at(i, j)], grid.seconds[grid.at(i - 1, j)]);
}

}  // namespace

void NodeGrid::Time::add(double more_seconds, double more_error) {
  ++count;
  seconds += (more_seconds - seconds) / static_cast<double>(count);
  error += (more_error - error) / static_cast<double>(count);
}

NodeGrid NodeGrid::build(const Measured& measured, const Base& base, const std::vector<double>& more_u,
                         const std::vector<double>& more_x, Monotone monotone) {
  std::map<double, std::vector<Ratio>> rows;
  std::set<double> us(more_u.begin(), more_u.end()), xs(more_x.begin(), more_x.end());
  for (const auto& [where, time] : measured) {
    us.insert(where.first);
    xs.insert(where.second);
    rows[where.first].push_back({where.second, time.seconds / base(where.first, where.second)});
  }
  NodeGrid grid;
  grid.u.assign(us.begin(), us.end());
  grid.x.assign(xs.begin(), xs.end());
  for (const double u : grid.u) {
    auto above = rows.lower_bound(u);
    if (above == rows.end()) --above;
    const auto below = above->first > u && above != rows.begin() ? std::prev(above) : above;
    for (const double x : grid.x) {
      Origin low, high;
      double beyond = 0, beyond_high = 0;
      double ratio = ratio_at(below->second, x, low, beyond);
      if (below != above) {
        const double part = doublings(below->first, u) / doublings(below->first, above->first);
        ratio += (ratio_at(above->second, x, high, beyond_high) - ratio) * part;
        low = std::max({low, high, Origin::kInterpolated});
        beyond = std::max(beyond, beyond_high);
      } else if (below->first != u) {
        low = Origin::kExtrapolated;
        beyond += doublings(below->first, u);
      }
      grid.seconds.push_back(ratio * base(u, x));
      grid.origin.push_back(low);
      grid.error.push_back(static_cast<float>(kExtrapolationError * beyond));
    }
  }
  const std::vector<double> before = grid.seconds;
  if (monotone == Monotone::kBoth) make_monotone_in_both(grid);
  if (monotone == Monotone::kInX) make_monotone_in_x(grid);
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (grid.origin[k] != Origin::kMeasured) continue;
    const double own = measured.at({grid.u[k / grid.x.size()], grid.x[k % grid.x.size()]}).error;
    grid.error[k] = static_cast<float>(std::max(own, std::abs(grid.seconds[k] / before[k] - 1)));
  }
  return grid;
}

/// So many bits that hardly two nodes share them.
CellIndex::CellIndex(const std::vector<double>& nodes) {
  constexpr int kMantissa = 52, kMostBits = 8;
  constexpr std::size_t kMostShare = 2;
  const double least = *std::upper_bound(nodes.begin(), nodes.end() - 1, 0.0);
  for (int kept = 0; kept <= kMostBits; ++kept) {
    shift_ = kMantissa - kept;
    first_ = std::bit_cast<std::uint64_t>(least) >> shift_;
    last_ = std::bit_cast<std::uint64_t>(nodes.back()) >> shift_;
    first_cell_.assign(1, 0);
    std::uint32_t cell = 0;
    std::size_t most = 0;
    for (std::uint64_t place = first_ + 1; place <= last_; ++place) {
      while (cell + 2 < nodes.size() && nodes[cell + 1] <= std::bit_cast<double>(place << shift_)) ++cell;
      most = std::max<std::size_t>(most, cell - first_cell_.back());
      first_cell_.push_back(cell);
    }
    if (most <= kMostShare) return;
  }
}

}  // namespace dooly::oracle
