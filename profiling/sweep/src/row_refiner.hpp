#pragma once

#include "oracle_profiled/work_curve.hpp"
#include "profiling_sweep/refiner.hpp"
#include "row_candidates.hpp"

#include <map>
#include <optional>

namespace dooly::profiling {

/// Points of operators whose time follows rows alone: a curve, one for each routing of experts.
/// Coarse start; an interval between two neighbours is fine if the time, which of one kernel does not fall, differs by
/// at most the target within it, or if the production interpolation, with either end left out, still meets that end.
/// Others are split. Where other kernels run at one end than at the other and the time changes much, up or down, the
/// place of the change is looked for, to the row; but of matrix products, whose kernels change at every size.
class RowRefiner final : public Refiner {
 public:
  RowRefiner(const Operation& operation, const oracle::Gpu& gpu, const RefineSettings& settings, const Operation* near,
             const std::vector<oracle::Sample>* near_samples);
  Round next(const std::vector<oracle::Sample>& samples) const override;

 private:
  struct Time {
    double seconds = 0;
    std::uint64_t kernels = 0;  ///< kernels_mark()
  };
  using Points = std::map<std::uint64_t, Time>;
  /// The expected shape of a curve: only ratios between its times count.
  struct Prior {
    oracle::WorkCurve curve;
    oracle::RowWork work;
    bool is_trusted = false;  ///< agreement at two points settles what lies between them
  };
  struct Errors {
    double sum = 0;
    std::size_t count = 0;
  };
  oracle::SamplePoint point_at(std::uint64_t rows, std::uint32_t routing) const;
  Points points_of(const std::vector<oracle::Sample>& samples, std::uint32_t routing, bool sustained) const;
  std::vector<std::uint64_t> curve_rows(const Points& points, const std::optional<Prior>& prior,
                                        const oracle::RowWork& work, Errors& errors) const;
  std::vector<std::uint64_t> start_rows(const std::optional<Prior>& prior, const oracle::RowWork& work) const;
  static bool is_other_kernel(const Time& a, const Time& b);
  static double left_out_error(Points::const_iterator low, Points::const_iterator point, Points::const_iterator high,
                               const oracle::RowWork& work);
  bool is_settled_by(const Prior& prior, Points::const_iterator low, Points::const_iterator high,
                     const oracle::RowWork& work) const;
  double expected(const Prior& prior, std::uint64_t rows) const;
  std::vector<std::uint64_t> sustained_rows(const Points& cool) const;

  Operation operation_;
  RefineSettings settings_;
  oracle::RowWork balanced_, work_;  ///< of balanced experts (the same for all else), of others
  RowCandidates candidates_;
  std::optional<Prior> near_;
};

/// The curve of one routing (0 for all but experts) as the production code fits it.
oracle::WorkCurve row_curve(const Operation& operation, const std::vector<oracle::Sample>& samples,
                            std::uint32_t routing, const oracle::Gpu& gpu);

}  // namespace dooly::profiling
