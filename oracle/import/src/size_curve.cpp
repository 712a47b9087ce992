#include "size_curve.hpp"

#include "oracle/efficiency.hpp"
#include "oracle/physical_limit.hpp"
#include "oracle_profiled/linear_surface.hpp"

namespace dooly::import_ {
namespace {

using oracle::OperatorKey;

constexpr double kElementBytes = 2;

/// Read once and written once, of a kind whose work is not told by its key: embeddings.
double copied_bytes(const OperatorKey& key) {
  return key.dims.empty() ? 0 : 2 * kElementBytes * static_cast<double>(key.dims.back());
}

oracle::RowWork work_of(const OperatorKey& key, const oracle::Gpu& gpu) {
  const oracle::Efficiency efficiency;
  if (key.kind == "linear" && key.dims.size() == 2)
    return oracle::linear_work(key, static_cast<double>(key.dims[0]), static_cast<double>(key.dims[1]), gpu,
                               efficiency);
  const auto one_row = oracle::physical_work(key, {1});
  const double bytes = one_row ? one_row->bytes : copied_bytes(key);
  return oracle::row_work(gpu, efficiency, oracle::DType::kFloat16, 0, 0, bytes);
}

}  // namespace

oracle::WorkCurve size_curve(const OperatorKey& key, const std::vector<oracle::Sample>& samples,
                             const oracle::Gpu& gpu) {
  std::vector<oracle::WorkCurve::Point> points;
  points.reserve(samples.size());
  for (const oracle::Sample& sample : samples)
    points.push_back({static_cast<double>(sample.point[0]), sample.median_s});
  return {std::move(points), work_of(key, gpu)};
}

}  // namespace dooly::import_
