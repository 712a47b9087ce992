#pragma once

#include "profiling_measure/measurer.hpp"
#include "profiling_sweep/cost_model.hpp"
#include "profiling_sweep/refiner.hpp"
#include "profiling_sweep/sample_archive.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dooly::profiling {

struct SweepSettings {
  RefineSettings refine;
  bool dense = false;           ///< the fixed grid instead of refinement
  double budget_s = 0;          ///< of device time; 0: none
  std::uint64_t max_points = 0; ///< of this run; 0: any number
  std::function<bool()> is_interrupted = {};
  std::function<double()> now = {};  ///< seconds; empty: the steady clock
};

/// How far a sweep is.
struct SweepProgress {
  std::size_t operations = 0, finished = 0;
  std::uint64_t points = 0;
  double spent_s = 0;
  double left_s = 0;       ///< expected; 0: not known
  const Operation* operation = nullptr;  ///< that is being measured
};

class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void progress(const SweepProgress& progress) = 0;
  virtual void measured(const Operation& operation, const oracle::Sample& sample) = 0;
};

/// What became of one signature.
struct OperationReport {
  Operation operation;
  std::size_t points_before = 0;  ///< usable ones, from earlier runs
  std::size_t points = 0;         ///< usable ones, measured now
  std::size_t failed = 0;         ///< points that ran out of memory, did not launch, or are suspect
  double spent_s = 0;             ///< device time of this run
  double fold_error = 0;          ///< of left-out points, at the end
  bool is_done = false;           ///< nothing is left to measure
  std::string unsupported;        ///< why nothing was
  std::string finding;            ///< kernels that ran were not those of the key's family
  std::size_t dense_points = 0;   ///< of the fixed grid
  double dense_s = 0;             ///< what that would have cost, by the cost of the points measured
  double paid_s = 0;              ///< what all points of the signature cost, earlier ones by the same estimate
};

struct SweepReport {
  enum class End { kDone, kBudget, kPoints, kInterrupted };
  End end = End::kDone;
  std::vector<OperationReport> operations;
  std::uint64_t points = 0, failed = 0;
  double spent_s = 0;

  /// Of the signatures that got points in this run.
  double dense_s() const;
  double paid_s() const;
  std::size_t dense_points() const;
  std::size_t own_points() const;
};

/// Why a run ends that has spent so much device time on so many points; kDone: it may go on.
SweepReport::End must_end(const SweepSettings& settings, double spent_s, std::uint64_t points);

/// Measures operations until their fits are good: first those that stand for a group of alike ones, all in turn, then
/// the others with their help. Every point is in the archive before the next is measured; what is there is not measured
/// again. Points faster than physics allows are repeated and, if they stay so, kept as suspect; those slower than
/// something larger that runs the same kernels are repeated once. At the end points of a few microseconds are measured
/// in two more processes, where the measurer can renew its own.
class Sweep {
 public:
  /// Samples go into the measurer's environment, less the kernel libraries that had no part in the operator
  /// (oracle::environment_of): two back ends share what both run, two versions of a library share nothing.
  Sweep(Measurer& measurer, SampleArchive& archive, SweepSettings settings, SweepObserver* observer = nullptr);
  ~Sweep();
  SweepReport run(const std::vector<Operation>& operations);

 private:
  struct Task;
  void prepare(const std::vector<Operation>& operations);
  void enter(const Task& task);
  void activate_next();
  bool run_round(Task& task);
  bool may_go_on();
  void measure(Task& task, const Probe& probe);
  oracle::Sample checked(Task& task, const Probe& probe);
  /// `is_usual`: the cost tells what other points will cost.
  oracle::Sample timed(Task& task, const Probe& probe, bool is_usual = true);
  void average_short_points();
  bool repeat_disturbed(Task& task);
  void finish(Task& task, double fold_error);
  void tell(const Task& task);
  double expected_left() const;
  SweepReport report();

  Measurer& measurer_;
  SampleArchive& archive_;
  SweepSettings settings_;
  SweepObserver* observer_;
  oracle::Environment machine_;
  std::optional<oracle::Environment> entered_;  ///< the archive's
  SweepDevice device_;
  std::vector<std::unique_ptr<Task>> tasks_;
  CostModel costs_;
  SweepReport report_;
};

}  // namespace dooly::profiling
