#pragma once

#include "expert_curve.hpp"
#include "oracle_profiled/compiled_plan.hpp"
#include "oracle_profiled/linear_surface.hpp"
#include "sample_library.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dooly::oracle {

/// Finds who answers each operator of a plan and fits what they answer with.
class PlanCompiler {
 public:
  PlanCompiler(CompiledPlan& out, std::span<const SampleSource* const> sources, const Gpu& gpu,
               const CompileSettings& settings);
  void compile(const StepPlan& plan);

 private:
  struct Found {
    int source = -1;
    std::vector<Sample> samples;
    std::string note;
    double least_error = 0;  ///< to be stated
  };
  void add_rows(const PlanEntry& entry);
  void add_attention(const PlanEntry& entry);
  /// `slower`: the platform's when called, what was measured after.
  WorkCurve curve_of(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer, RowSlowdown& slower);
  WorkCurve fit(const PlanEntry& entry, const std::vector<Sample>& samples, const RowWork& work, OperatorAnswer& answer,
                RowSlowdown& slower) const;
  /// Of other operators than experts the points alone.
  ExpertPoints points_of(const PlanEntry& entry, const std::vector<Sample>& samples, bool sustained,
                         const RowWork& work, OperatorAnswer& answer) const;
  bool linear_from_neighbours(const PlanEntry& entry, OperatorAnswer& answer, RowSlowdown& slower, WorkCurve& curve);
  bool norm_from_parts(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer, const RowSlowdown& slower,
                       WorkCurve& curve) const;
  bool collective_of_other_family(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer,
                                  RowSlowdown& slower, WorkCurve& curve);
  void extend_custom_all_reduce(const PlanEntry& entry, std::vector<Sample>& samples, OperatorAnswer& answer);
  WorkCurve on_cool_device(WorkCurve curve) const;
  RowWork work_of(const PlanEntry& entry) const;
  WorkCurve roofline_of(const PlanEntry& entry, const RowWork& work) const;
  Found find(const Signature& signature) const;
  Found find_attention(const PlanEntry& entry);
  void report(const PlanEntry& entry, OperatorAnswer answer);
  void use_modules(const StepPlan& plan, std::vector<PlanEntry>& entries);

  CompiledPlan& out_;
  Gpu gpu_;
  CompileSettings settings_;
  std::vector<SampleLibrary> sources_;
  std::map<std::string, std::unique_ptr<LinearSurface>> surfaces_;  // by source and types
  std::optional<KernelTimes> times_;  // empty: shares of the peaks
  std::uint32_t tensor_parallel_ = 1;
};

}  // namespace dooly::oracle
