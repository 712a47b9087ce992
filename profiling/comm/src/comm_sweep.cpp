#include "profiling_comm/comm_sweep.hpp"

#include "oracle_store/links.hpp"
#include "profiling_comm/rank_processes.hpp"
#include "profiling_sweep/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace dooly::profiling {
namespace {

using oracle::Sample;
using oracle::SampleStatus;

constexpr std::size_t kHopeless = 3;  // failures in a row

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_ok(const Sample& sample) { return sample.status == SampleStatus::kOk; }

}  // namespace

/// One collective and what is known of it.
struct CommSweep::Curve {
  std::vector<Sample>& samples_of(LaunchMode mode) { return mode == LaunchMode::kBackToBack ? back_to_back : isolated; }
  CurveReport report;
  std::vector<Sample> back_to_back, isolated;
  std::size_t failures_in_a_row = 0;
};

CommSweep::CommSweep(CommMachine machine, RankGroupFactory factory, SampleArchive& archive, CommSettings settings,
                     CommObserver* observer)
    : machine_(std::move(machine)),
      factory_(std::move(factory)),
      archive_(archive),
      settings_(std::move(settings)),
      observer_(observer) {
  if (!settings_.now) settings_.now = steady_seconds;
}

bool CommSweep::may_go_on() {
  if (settings_.is_interrupted && settings_.is_interrupted()) report_.end = CommReport::End::kInterrupted;
  if (report_.end == CommReport::End::kDone && settings_.budget_s > 0 &&
      settings_.now() - begin_s_ >= settings_.budget_s)
    report_.end = CommReport::End::kBudget;
  return report_.end == CommReport::End::kDone;
}

Sample CommSweep::sampled(const Curve& curve, std::uint64_t bytes, LaunchMode mode) {
  const Collective& collective = curve.report.collective;
  try {
    if (!group_) {
      group_ = factory_(collective.ranks);
      report_.restarts += had_group_ ? 1 : 0;
      had_group_ = true;
    }
    return sample_collective(*group_, collective, bytes, mode, settings_.sampling, report_.device_s);
  } catch (const RankFailure& failure) {
    group_.reset();
    Sample sample;
    sample.point = {bytes, collective.ranks};
    sample.regime = oracle::ClockRegime::kCool;
    sample.status = failure.status();
    sample.note = failure.what();
    return sample;
  }
}

void CommSweep::measure(Curve& curve, std::uint64_t bytes, LaunchMode mode) {
  tell(curve);
  const Sample sample = sampled(curve, bytes, mode);
  archive_.sample(key_of(curve.report.collective, mode), sample);
  curve.samples_of(mode).push_back(sample);
  ++(is_ok(sample) ? report_.points : report_.failed);
  ++(is_ok(sample) ? curve.report.points : curve.report.failed);
  curve.failures_in_a_row = is_ok(sample) ? 0 : curve.failures_in_a_row + 1;
  if (observer_ != nullptr) observer_->measured(curve.report.collective, mode, sample);
}

/// False if the sweep is to stop. Where back to back fails, the isolated launch is not tried.
bool CommSweep::measure_size(Curve& curve, std::uint64_t bytes) {
  for (const LaunchMode mode : {LaunchMode::kBackToBack, LaunchMode::kIsolated}) {
    const std::vector<Sample>& there = curve.samples_of(mode);
    const auto is_it = [bytes](const Sample& sample) { return sample.point[0] == bytes; };
    if (std::none_of(there.begin(), there.end(), is_it)) {
      if (!may_go_on()) return false;
      measure(curve, bytes, mode);
    }
    if (!is_ok(*std::find_if(there.begin(), there.end(), is_it))) break;
  }
  return true;
}

void CommSweep::measure_curve(const CommRequest& request, Curve& curve) {
  const SizePlan plan(curve.report.collective, request.sizes, device_of(machine_.environment).gpu);
  for (const Sample& sample : std::vector<Sample>(curve.back_to_back))  // stopped between the two
    if (is_ok(sample) && !measure_size(curve, sample.point[0])) return;
  for (std::vector<std::uint64_t> sizes; !(sizes = plan.next(curve.back_to_back)).empty();) {
    for (const std::uint64_t bytes : sizes) {
      if (!measure_size(curve, bytes)) return;
      if (curve.failures_in_a_row > 0) break;  // it may forbid others
    }
    if (curve.failures_in_a_row < kHopeless) continue;
    curve.report.given_up = fmt::format("{} failures in a row", kHopeless);
    break;
  }
  curve.report.fold_error = plan.fold_error(curve.back_to_back);
}

void CommSweep::run_curve(const CommRequest& request, Curve& curve) {
  CurveReport& report = curve.report;
  for (const LaunchMode mode : {LaunchMode::kBackToBack, LaunchMode::kIsolated})
    report.points_before +=
        static_cast<std::size_t>(std::count_if(curve.samples_of(mode).begin(), curve.samples_of(mode).end(), is_ok));
  try {
    measure_curve(request, curve);
  } catch (const CommInterrupted&) {
    report_.end = CommReport::End::kInterrupted;
  }
  std::vector<Sample> good = curve.back_to_back;
  std::erase_if(good, [](const Sample& sample) { return !is_ok(sample); });
  if (good.empty()) return;
  const auto [least, largest] = std::minmax_element(
      good.begin(), good.end(), [](const Sample& a, const Sample& b) { return a.point[0] < b.point[0]; });
  report.least_s = least->median_s;
  report.largest_bytes = largest->point[0];
  report.largest_s = largest->median_s;
}

void CommSweep::run_ranks(const CommRequest& request, std::uint32_t ranks) {
  const oracle::Environment environment = machine_.environment_of(ranks);
  archive_.environment(environment);
  archive_.links(store::links_record(environment, machine_.links));
  std::map<oracle::Signature, std::vector<Sample>> there;
  for (oracle::SampleSet& set : archive_.measured()) there[set.signature] = std::move(set.samples);
  for (const CollectiveKind kind : request.kinds) {
    for (const std::string& dtype : request.dtypes) {
      if (!may_go_on()) return;
      Curve curve;
      curve.report.collective = {kind, dtype, ranks};
      for (const LaunchMode mode : {LaunchMode::kBackToBack, LaunchMode::kIsolated})
        curve.samples_of(mode) = there[signature_of(key_of(curve.report.collective, mode))];
      run_curve(request, curve);
      report_.curves.push_back(std::move(curve.report));
    }
  }
}

CommReport CommSweep::run(const CommRequest& request) {
  report_ = {};
  begin_s_ = settings_.now();
  curves_ = request.ranks.size() * request.kinds.size() * request.dtypes.size();
  for (const std::uint32_t ranks : request.ranks) {
    if (!may_go_on()) break;
    run_ranks(request, ranks);
    group_.reset();
    had_group_ = false;
  }
  report_.spent_s = settings_.now() - begin_s_;
  return report_;
}

void CommSweep::tell(const Curve& curve) const {
  if (observer_ == nullptr) return;
  CommProgress progress;
  progress.curves = curves_;
  progress.finished = report_.curves.size();
  progress.points = report_.points;
  progress.spent_s = settings_.now() - begin_s_;
  if (progress.finished > 0)
    progress.left_s =
        progress.spent_s / static_cast<double>(progress.finished) * static_cast<double>(curves_ - progress.finished);
  progress.collective = curve.report.collective;
  observer_->progress(progress);
}

}  // namespace dooly::profiling
