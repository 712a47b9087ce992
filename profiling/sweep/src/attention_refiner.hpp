#pragma once

#include "attention_points.hpp"
#include "prefill_grid.hpp"
#include "profiling_sweep/refiner.hpp"
#include "sample_view.hpp"

#include <functional>
#include <vector>

namespace dooly::profiling {

/// Points of attention: decodes and prefill chunks first; then, where a back end runs both in one launch, mixed
/// batches; and decodes of two lengths. Each part starts coarse. While the mean error of left-out points of a part is
/// above the target, points are added where errors near by are large and measured points far.
class AttentionRefiner final : public Refiner {
 public:
  AttentionRefiner(const Operation& operation, const oracle::Gpu& gpu, const RefineSettings& settings);
  Round next(const std::vector<oracle::Sample>& samples) const override;

 private:
  struct Error {
    oracle::SamplePoint point{};
    double value = 0;
    bool is_between = false;  ///< the rest had points on all sides
  };
  struct Verdict {
    std::vector<oracle::SamplePoint> wanted;
    double error_sum = 0;
    std::size_t errors = 0;
  };
  Verdict judge(AttentionPart part, const std::vector<oracle::Sample>& usable, const Failures& failures) const;
  std::vector<Error> left_out_errors(AttentionPart part, const std::vector<oracle::Sample>& usable) const;
  std::vector<oracle::SamplePoint> more_of_grid(PrefillGrid& grid, const std::vector<Error>& errors,
                                                const std::function<bool(const oracle::SamplePoint&)>& known) const;
  std::vector<oracle::SamplePoint> missing_starts(const std::vector<oracle::Sample>& usable,
                                                  const Failures& failures) const;
  std::vector<oracle::SamplePoint> sustained_points(const std::vector<oracle::Sample>& samples) const;
  bool is_good(AttentionPart part, const std::vector<Error>& errors) const;
  std::vector<oracle::SamplePoint> best_of_pool(AttentionPart part, const std::vector<Error>& errors,
                                                const std::vector<oracle::SamplePoint>& pool) const;
  oracle::AttentionModel model_of(const std::vector<oracle::Sample>& samples) const;

  Operation operation_;
  RefineSettings settings_;
  oracle::AttentionRoofline work_;
};

}  // namespace dooly::profiling
