#pragma once

#include "profiling_comm/comm_sampling.hpp"
#include "profiling_comm/machine.hpp"
#include "profiling_comm/size_plan.hpp"
#include "profiling_sweep/sample_archive.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

struct CommRequest {
  std::vector<std::uint32_t> ranks;
  std::vector<CollectiveKind> kinds{kCollectiveKinds.begin(), kCollectiveKinds.end()};
  std::vector<std::string> dtypes{"bfloat16"};
  SizeLimits sizes;
};

struct CommSettings {
  CommSampling sampling;
  double budget_s = 0;                       ///< seconds by `now`, then it ends; 0: none
  std::function<bool()> is_interrupted = {};
  std::function<double()> now = {};          ///< empty: the steady clock
};

/// Starts a group; called again after a failure.
using RankGroupFactory = std::function<std::unique_ptr<RankGroup>(std::uint32_t ranks)>;

/// What became of one collective.
struct CurveReport {
  Collective collective;
  std::size_t points_before = 0, points = 0, failed = 0;  ///< both ways of launching
  double fold_error = 0;        ///< back to back, of left-out sizes
  double least_s = 0;           ///< back to back, of the smallest message
  std::uint64_t largest_bytes = 0;
  double largest_s = 0;
  std::string given_up;         ///< why, if failures ended it
};

struct CommReport {
  enum class End { kDone, kBudget, kInterrupted };
  End end = End::kDone;
  std::vector<CurveReport> curves;
  std::uint64_t points = 0, failed = 0;
  double device_s = 0, spent_s = 0;  ///< of a GPU, timed launches; by the clock, starts included
  unsigned restarts = 0;             ///< of groups after failures
};

struct CommProgress {
  std::size_t curves = 0, finished = 0;
  std::uint64_t points = 0;
  double spent_s = 0, left_s = 0;  ///< left: 0 if not known
  Collective collective;
};

class CommObserver {
 public:
  virtual ~CommObserver() = default;
  virtual void progress(const CommProgress& progress) = 0;
  virtual void measured(const Collective& collective, LaunchMode mode, const oracle::Sample& sample) = 0;
};

/// Measures what the archive lacks: for each number of ranks, collective and type the sizes that its plan asks for,
/// each back to back and isolated. Every point is in the archive before the next is measured. A point at which the
/// group fails is stored as failed and the next one gets a new group; after several in a row the collective is left.
class CommSweep {
 public:
  CommSweep(CommMachine machine, RankGroupFactory factory, SampleArchive& archive, CommSettings settings,
            CommObserver* observer = nullptr);
  CommReport run(const CommRequest& request);

 private:
  struct Curve;
  void run_ranks(const CommRequest& request, std::uint32_t ranks);
  void run_curve(const CommRequest& request, Curve& curve);
  void measure_curve(const CommRequest& request, Curve& curve);
  bool measure_size(Curve& curve, std::uint64_t bytes);
  void measure(Curve& curve, std::uint64_t bytes, LaunchMode mode);
  oracle::Sample sampled(const Curve& curve, std::uint64_t bytes, LaunchMode mode);
  bool may_go_on();
  void tell(const Curve& curve) const;

  CommMachine machine_;
  RankGroupFactory factory_;
  SampleArchive& archive_;
  CommSettings settings_;
  CommObserver* observer_;
  std::unique_ptr<RankGroup> group_;
  bool had_group_ = false;
  CommReport report_;
  std::size_t curves_ = 0;
  double begin_s_ = 0;
};

}  // namespace dooly::profiling
