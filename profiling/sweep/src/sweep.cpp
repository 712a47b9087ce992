#include "profiling_sweep/sweep.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle/physical_limit.hpp"
#include "process_mean.hpp"
#include "profiling_sweep/dense_grid.hpp"
#include "profiling_sweep/signature_fit.hpp"
#include "profiling_sweep/worker_measurer.hpp"
#include "sample_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace dooly::profiling {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// All points of the fixed grid that are not there.
class DenseRefiner final : public Refiner {
 public:
  DenseRefiner(const Operation& operation, const RefineSettings& settings)
      : grid_(dense_grid(operation, settings.limits)),
        regime_(settings.both_regimes ? oracle::ClockRegime::kCool : oracle::ClockRegime::kUnknown) {}
  Round next(const std::vector<oracle::Sample>& samples) const override {
    const Failures failures(samples);
    std::vector<oracle::SamplePoint> there;
    for (const oracle::Sample& sample : samples) there.push_back(sample.point);
    std::sort(there.begin(), there.end());
    Round round;
    if (failures.count() >= kHopeless && failures.count() == samples.size()) return round;
    for (const oracle::SamplePoint& point : grid_)
      if (!std::binary_search(there.begin(), there.end(), point) && !failures.blocks(point))
        round.probes.push_back({point, regime_});
    return round;
  }

 private:
  std::vector<oracle::SamplePoint> grid_;
  oracle::ClockRegime regime_;
};

/// Operations of one group have curves of one shape.
std::string group_of(const oracle::OperatorKey& key) {
  return fmt::format("{} {} {}", key.kind, key.family, fmt::join(key.dtypes, " "));
}

/// Points of one signature before it is another's turn.
constexpr double kDisturbed = 2;  // targets by which a time may exceed that of something larger
constexpr std::size_t kTurn = 12, kDenseTurn = 1024;

/// Points that a signature takes, before any is finished.
double usual_points(const Operation& operation) {
  switch (operation.binding) {
    case oracle::Binding::kAttention: return 150;
    case oracle::Binding::kExperts: return 40;
    case oracle::Binding::kLogitsRows: return 12;
    default: return multiplies_matrices(operation.key) ? 75 : 16;
  }
}

}  // namespace

namespace {

/// No smaller in any respect, of the same kernels, routing and regime: it cannot be faster.
bool is_larger(const Operation& operation, const oracle::Sample& small, const oracle::Sample& large) {
  if (small.regime != large.regime || small.point == large.point) return false;
  if (operation.binding == oracle::Binding::kExperts && small.point[2] != large.point[2]) return false;
  for (std::size_t i = 0; i < small.point.size(); ++i)
    if (small.point[i] > large.point[i]) return false;
  return small.kernels == large.kernels;
}

}  // namespace

struct Sweep::Task {
  Operation operation;
  oracle::Environment environment;
  std::string group;
  std::vector<oracle::Sample> samples;
  std::size_t samples_before = 0;  // of earlier runs
  std::unique_ptr<Refiner> refiner;  // null: not begun
  bool is_finished = false;
  std::vector<Probe> repeated;  // in this run
  OperationReport report;
};

double SweepReport::dense_s() const {
  double sum = 0;
  for (const OperationReport& each : operations) sum += each.points > 0 ? each.dense_s : 0;
  return sum;
}
double SweepReport::paid_s() const {
  double sum = 0;
  for (const OperationReport& each : operations) sum += each.points > 0 ? each.paid_s : 0;
  return sum;
}
std::size_t SweepReport::dense_points() const {
  std::size_t sum = 0;
  for (const OperationReport& each : operations) sum += each.points > 0 ? each.dense_points : 0;
  return sum;
}
std::size_t SweepReport::own_points() const {
  std::size_t sum = 0;
  for (const OperationReport& each : operations) sum += each.points > 0 ? each.points + each.points_before : 0;
  return sum;
}

Sweep::Sweep(Measurer& measurer, SampleArchive& archive, SweepSettings settings, SweepObserver* observer)
    : measurer_(measurer),
      archive_(archive),
      settings_(std::move(settings)),
      observer_(observer),
      machine_(measurer.environment()),
      device_(device_of(machine_)) {
  if (!settings_.now) settings_.now = steady_seconds;
}
Sweep::~Sweep() = default;

void Sweep::prepare(const std::vector<Operation>& operations) {
  tasks_.clear();
  report_ = {};
  const SamplesBySignature there = measured_in(archive_, operations, machine_);
  entered_.reset();
  for (const Operation& operation : operations) {
    auto task = std::make_unique<Task>();
    task->operation = operation;
    task->environment = oracle::environment_of(operation.key, machine_);
    task->group = group_of(operation.key);
    task->report.operation = operation;
    if (const auto found = there.find(operation.signature); found != there.end()) task->samples = found->second;
    task->samples_before = task->samples.size();
    task->report.points_before =
        static_cast<std::size_t>(std::count_if(task->samples.begin(), task->samples.end(), is_usable));
    if (!measurer_.supports(operation.key, task->report.unsupported)) {
      if (task->report.unsupported.empty()) task->report.unsupported = "not supported here";
      task->is_finished = true;
    }
    tasks_.push_back(std::move(task));
  }
}

/// Where the samples of a task go.
void Sweep::enter(const Task& task) {
  if (entered_ == task.environment) return;
  archive_.environment(task.environment);
  entered_ = task.environment;
}

/// Begins the first of each group; when those are finished, the rest.
void Sweep::activate_next() {
  std::map<std::string, const Task*> leaders;
  for (const auto& task : tasks_)
    if (task->is_finished && task->report.unsupported.empty()) leaders.try_emplace(task->group, task.get());
  std::map<std::string, bool> begun;
  for (const auto& task : tasks_) {
    if (task->is_finished || task->refiner) continue;
    const auto leader = leaders.find(task->group);
    const bool has_leader = leader != leaders.end();
    if (!has_leader && !settings_.dense && begun[task->group]) continue;
    begun[task->group] = true;
    if (settings_.dense) {
      task->refiner = std::make_unique<DenseRefiner>(task->operation, settings_.refine);
    } else {
      const Task* near = has_leader ? leader->second : nullptr;
      task->refiner =
          make_refiner(task->operation, device_.gpu, settings_.refine, near != nullptr ? &near->operation : nullptr,
                       near != nullptr ? &near->samples : nullptr);
    }
  }
}

SweepReport::End must_end(const SweepSettings& settings, double spent_s, std::uint64_t points) {
  using End = SweepReport::End;
  if (settings.is_interrupted && settings.is_interrupted()) return End::kInterrupted;
  if (settings.budget_s > 0 && spent_s >= settings.budget_s) return End::kBudget;
  return settings.max_points > 0 && points >= settings.max_points ? End::kPoints : End::kDone;
}

bool Sweep::may_go_on() {
  report_.end = must_end(settings_, report_.spent_s, report_.points + report_.failed);
  return report_.end == SweepReport::End::kDone;
}

oracle::Sample Sweep::timed(Task& task, const Probe& probe, bool is_usual) {
  const double start = settings_.now();
  oracle::Sample sample = measurer_.measure(task.operation.key, probe.point, probe.regime);
  const double cost = settings_.now() - start;
  report_.spent_s += cost;
  task.report.spent_s += cost;
  if (is_usual) costs_.add(task.operation.key.kind, sample.median_s, cost);
  return sample;
}

oracle::Sample Sweep::checked(Task& task, const Probe& probe) {
  oracle::Sample sample = timed(task, probe);
  if (!is_usable(sample) || !device_.is_known) return sample;
  const auto limit = physical_limit_s(task.operation.key, probe.point, device_.gpu);
  const auto is_possible = [&] { return !limit || sample.median_s >= oracle::kLimitShare * *limit; };
  if (is_possible()) return sample;
  sample = timed(task, probe);
  if (!is_usable(sample) || is_possible()) return sample;
  sample.status = oracle::SampleStatus::kSuspect;
  sample.note = fmt::format("measured twice below the physical limit of {:.3g} s", *limit);
  return sample;
}

void Sweep::measure(Task& task, const Probe& probe) {
  oracle::Sample sample = checked(task, probe);
  enter(task);
  archive_.sample(task.operation.key, sample);
  if (is_usable(sample)) {
    ++report_.points;
    ++task.report.points;
  } else {
    ++report_.failed;
    ++task.report.failed;
  }
  if (observer_ != nullptr) observer_->measured(task.operation, sample);
  task.samples.push_back(std::move(sample));
}

/// What takes longer than something larger was disturbed: it is measured once more, and the faster time stays. Points
/// of earlier runs had their turn: kernels that are slower at a smaller size would lose a little with every run.
bool Sweep::repeat_disturbed(Task& task) {
  for (std::size_t i = task.samples_before; i < task.samples.size(); ++i) {
    oracle::Sample& sample = task.samples[i];
    if (!is_usable(sample) || is_short(sample)) continue;  // short ones differ by process
    const double most = sample.median_s / (1 + kDisturbed * settings_.refine.target);
    const bool is_disturbed = std::any_of(task.samples.begin(), task.samples.end(), [&](const oracle::Sample& other) {
      return is_usable(other) && other.median_s < most && is_larger(task.operation, sample, other);
    });
    const Probe probe{sample.point, sample.regime};
    if (!is_disturbed || std::find(task.repeated.begin(), task.repeated.end(), probe) != task.repeated.end()) continue;
    if (!may_go_on()) return false;
    task.repeated.push_back(probe);
    const oracle::Sample again = checked(task, probe);
    if (!is_usable(again) || again.median_s >= sample.median_s) continue;
    enter(task);
    archive_.sample(task.operation.key, again);
    sample = again;
  }
  return true;
}

/// Measures short points in other processes too, once all signatures are finished.
void Sweep::average_short_points() {
  std::map<const Operation*, Task*> tasks;
  for (const auto& task : tasks_)
    if (task->report.unsupported.empty()) tasks[&task->operation] = task.get();
  const auto wanting = [&] {
    std::vector<ShortPoint> points;
    for (const auto& [operation, task] : tasks)
      for (oracle::Sample& sample : task->samples)
        if (wants_another_process(sample)) points.push_back({operation, &sample});
    return points;
  };
  const auto again = [&](const ShortPoint& point) -> std::optional<oracle::Sample> {
    if (!may_go_on()) return std::nullopt;
    Task& task = *tasks.at(point.operation);
    tell(task);
    return timed(task, {point.sample->point, point.sample->regime}, false);  // the first one begins a process
  };
  average_over_processes(measurer_, wanting, again, [&](const ShortPoint& point) {
    enter(*tasks.at(point.operation));
    archive_.sample(point.operation->key, *point.sample);
  });
}

void Sweep::finish(Task& task, double fold_error) {
  task.is_finished = true;
  task.report.is_done = true;
  task.report.fold_error = fold_error;
  if (task.report.points == 0) return;
  archive_.note(
      fmt::format(R"({{"event":"signature done","signature":"{}","points":{},"seconds":{:.3f},"fold_error":{:.4f}}})",
                  task.operation.signature.hex(), task.report.points, task.report.spent_s, fold_error));
}

/// A turn of one signature. False: the sweep has to end.
bool Sweep::run_round(Task& task) {
  tell(task);
  if (!settings_.dense && !repeat_disturbed(task)) return false;
  const Round round = task.refiner->next(task.samples);
  task.report.fold_error = round.fold_error;
  if (round.probes.empty()) {
    finish(task, round.fold_error);
    return true;
  }
  const std::size_t most = settings_.dense ? kDenseTurn : kTurn;
  for (std::size_t i = 0; i < std::min(most, round.probes.size()); ++i) {
    const Probe& probe = round.probes[i];
    if (!may_go_on()) return false;
    if (Failures(task.samples).blocks(probe.point)) continue;  // of this round
    measure(task, probe);
    tell(task);
  }
  return true;
}

double Sweep::expected_left() const {
  std::map<std::pair<oracle::Binding, std::string>, std::pair<double, double>> finished;  // points, signatures
  const auto like = [](const Task& task) { return std::pair(task.operation.binding, task.operation.key.kind); };
  for (const auto& task : tasks_) {
    if (!task->report.is_done || task->report.points == 0) continue;
    auto& [points, count] = finished[like(*task)];
    points += static_cast<double>(task->report.points + task->report.points_before);
    count += 1;
  }
  double left = 0;
  for (const auto& task : tasks_) {
    if (task->is_finished) continue;
    const auto found = finished.find(like(*task));
    const double usual = settings_.dense           ? double(dense_grid(task->operation, settings_.refine.limits).size())
                         : found != finished.end() ? found->second.first / found->second.second
                                                   : usual_points(task->operation);
    const double there = static_cast<double>(task->samples.size());
    left += std::max(1.0, usual - there) * costs_.mean(task->operation.key.kind);
  }
  for (const auto& task : tasks_)
    for (const oracle::Sample& sample : task->samples)
      if (!settings_.dense && wants_another_process(sample))
        left += (kProcesses - processes_of(sample)) * costs_.mean(task->operation.key.kind);
  if (settings_.budget_s > 0) left = std::min(left, std::max(0.0, settings_.budget_s - report_.spent_s));
  return left;
}

void Sweep::tell(const Task& task) {
  if (observer_ == nullptr) return;
  SweepProgress progress;
  progress.operations = tasks_.size();
  for (const auto& each : tasks_) progress.finished += each->is_finished ? 1 : 0;
  progress.points = report_.points + report_.failed;
  progress.spent_s = report_.spent_s;
  progress.left_s = expected_left();
  progress.operation = &task.operation;
  observer_->progress(progress);
}

namespace {

/// Of the first sample whose kernels are another family's.
std::string finding_of(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples) {
  for (const oracle::Sample& sample : samples)
    if (std::string finding = oracle::family_finding(key, sample.kernel_family); !finding.empty()) return finding;
  return {};
}

}  // namespace

SweepReport Sweep::report() {
  for (const auto& task : tasks_) {
    OperationReport& each = task->report;
    each.finding = finding_of(task->operation.key, task->samples);
    const std::vector<oracle::SamplePoint> grid = dense_grid(task->operation, settings_.refine.limits);
    each.dense_points = grid.size();
    if (each.points > 0) {
      const SignatureFit fit(task->operation, task->samples, device_.gpu);
      const std::string& kind = task->operation.key.kind;
      for (const oracle::SamplePoint& point : grid) each.dense_s += costs_.seconds(kind, fit.seconds(point));
      for (const oracle::Sample& sample : task->samples)
        each.paid_s += processes_of(sample) * costs_.seconds(kind, sample.median_s);
    }
    report_.operations.push_back(each);
  }
  archive_.note(fmt::format(R"({{"event":"{}","points":{},"failed":{},"seconds":{:.3f}}})",
                            report_.end == SweepReport::End::kInterrupted ? "sweep interrupted" : "sweep ended",
                            report_.points, report_.failed, report_.spent_s));
  return std::move(report_);
}

SweepReport Sweep::run(const std::vector<Operation>& operations) {
  prepare(operations);
  archive_.note(fmt::format(R"({{"event":"sweep began","signatures":{},"target":{},"grid":"{}"}})", tasks_.size(),
                            settings_.refine.target, settings_.dense ? "dense" : "adaptive"));
  try {
    for (bool goes_on = true; goes_on;) {
      activate_next();
      bool is_idle = true;
      for (const auto& task : tasks_) {
        if (task->is_finished || !task->refiner) continue;
        is_idle = false;
        if (!run_round(*task)) {
          goes_on = false;
          break;
        }
      }
      if (is_idle) {
        if (!settings_.dense) average_short_points();
        goes_on = false;
      }
    }
  } catch (const WorkerMeasurer::Interrupted&) {
    report_.end = SweepReport::End::kInterrupted;
  }
  return report();
}

}  // namespace dooly::profiling
