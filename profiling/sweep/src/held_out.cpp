#include "profiling_sweep/held_out.hpp"

#include "oracle/kernel_families.hpp"
#include "process_mean.hpp"
#include "profiling_sweep/worker_measurer.hpp"
#include "row_candidates.hpp"
#include "sample_view.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace dooly::profiling {
namespace {

std::uint64_t seed_of(const oracle::Signature& signature) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < 8; ++i) seed = seed << 8 | signature.bytes[i];
  return seed;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Draws of one signature until so many points are there; of a small range there may not be as many.
constexpr std::size_t kMostDraws = 64;

class HeldOutRun {
 public:
  HeldOutRun(Measurer& measurer, SampleArchive& archive, const SweepSettings& settings, SweepObserver* observer)
      : measurer_(measurer),
        archive_(archive),
        settings_(settings),
        observer_(observer),
        machine_(measurer.environment()) {
    if (!settings_.now) settings_.now = steady_seconds;
  }

  HeldOutReport run(const std::vector<Operation>& operations, const SamplesBySignature& fitted, std::size_t count) {
    SamplesBySignature there = measured_in(archive_, operations, machine_);
    progress_.operations = operations.size();
    try {
      if (fill_all(operations, fitted, there, count)) average_short_points(operations, there);
    } catch (const WorkerMeasurer::Interrupted&) {
      report_.end = SweepReport::End::kInterrupted;
    }
    return report_;
  }

 private:
  using Samples = std::vector<oracle::Sample>;

  /// False: the run has to end.
  bool fill_all(const std::vector<Operation>& operations, const SamplesBySignature& fitted, SamplesBySignature& there,
                std::size_t count) {
    for (const Operation& operation : operations) {
      const auto basis = fitted.find(operation.signature);
      const bool has_fit = basis != fitted.end() && std::any_of(basis->second.begin(), basis->second.end(), is_usable);
      if (has_fit && !fill(operation, basis->second, there[operation.signature], count)) return false;
      ++progress_.finished;
    }
    return true;
  }

  /// False: the run has to end.
  bool fill(const Operation& operation, const Samples& basis, Samples& own, std::size_t count) {
    if (std::string why; !measurer_.supports(operation.key, why)) return true;
    archive_.environment(oracle::environment_of(operation.key, machine_));
    Samples known = basis;
    known.insert(known.end(), own.begin(), own.end());
    HeldOutDraw draw(operation, settings_.refine.limits);
    for (std::size_t draws = 0; own.size() < count && draws < kMostDraws * count; ++draws) {
      const oracle::SamplePoint point = draw.next();
      const bool is_known =
          std::any_of(known.begin(), known.end(), [&](const oracle::Sample& each) { return each.point == point; });
      if (is_known || Failures(known).blocks(point)) continue;
      if (!may_go_on()) return false;
      own.push_back(measure(operation, point));
      known.push_back(own.back());
    }
    report_.signatures += own.empty() ? 0 : 1;
    return true;
  }

  /// As the sweep does: what one process says of them is luck.
  void average_short_points(const std::vector<Operation>& operations, SamplesBySignature& there) {
    const auto wanting = [&] {
      std::vector<ShortPoint> points;
      for (const Operation& operation : operations)
        for (oracle::Sample& sample : there[operation.signature])
          if (wants_another_process(sample)) points.push_back({&operation, &sample});
      return points;
    };
    const auto again = [&](const ShortPoint& point) -> std::optional<oracle::Sample> {
      if (!may_go_on()) return std::nullopt;
      tell(*point.operation);
      return timed(*point.operation, point.sample->point, point.sample->regime);
    };
    average_over_processes(measurer_, wanting, again, [&](const ShortPoint& point) {
      archive_.environment(oracle::environment_of(point.operation->key, machine_));
      archive_.sample(point.operation->key, *point.sample);
    });
  }

  oracle::Sample timed(const Operation& operation, const oracle::SamplePoint& point, oracle::ClockRegime regime) {
    const double start = settings_.now();
    oracle::Sample sample = measurer_.measure(operation.key, point, regime);
    report_.spent_s += settings_.now() - start;
    return sample;
  }

  oracle::Sample measure(const Operation& operation, const oracle::SamplePoint& point) {
    const auto regime = settings_.refine.both_regimes ? oracle::ClockRegime::kCool : oracle::ClockRegime::kUnknown;
    oracle::Sample sample = timed(operation, point, regime);
    archive_.sample(operation.key, sample);
    ++(is_usable(sample) ? report_.points : report_.failed);
    if (observer_ != nullptr) observer_->measured(operation, sample);
    tell(operation);
    return sample;
  }

  void tell(const Operation& operation) {
    if (observer_ == nullptr) return;
    progress_.points = report_.points + report_.failed;
    progress_.spent_s = report_.spent_s;
    progress_.operation = &operation;
    observer_->progress(progress_);
  }

  bool may_go_on() {
    report_.end = must_end(settings_, report_.spent_s, report_.points + report_.failed);
    return report_.end == SweepReport::End::kDone;
  }

  Measurer& measurer_;
  SampleArchive& archive_;
  SweepSettings settings_;
  SweepObserver* observer_;
  oracle::Environment machine_;
  HeldOutReport report_;
  SweepProgress progress_;
};

}  // namespace

HeldOutDraw::HeldOutDraw(const Operation& operation, const SweepLimits& limits)
    : operation_(operation),
      limits_(limits),
      random_(seed_of(operation.signature)) {}

oracle::SamplePoint HeldOutDraw::next() {
  if (operation_.binding != oracle::Binding::kAttention) return rows();
  enum Part : std::uint8_t { kDecodes, kPrefill, kMixed, kRagged };
  constexpr std::array kTurns{kDecodes, kPrefill, kMixed,  kDecodes, kPrefill, kRagged, kMixed,
                              kDecodes, kPrefill, kRagged, kMixed,   kDecodes, kPrefill};
  switch (kTurns[drawn_++ % kTurns.size()]) {
    case kDecodes: return decodes();
    case kPrefill: return prefill();
    case kMixed: return launches_together(operation_.key) ? mixed() : prefill();
    case kRagged: return ragged();
  }
  return {};
}

std::uint64_t HeldOutDraw::number(std::uint64_t low, std::uint64_t high) {
  const double share = double(random_() >> 11) * 0x1p-53;  // std's distributions are not the same everywhere
  const double log_low = std::log(double(low)), log_high = std::log(double(std::max(low, high)));
  return static_cast<std::uint64_t>(std::llround(std::exp(log_low + share * (log_high - log_low))));
}

/// Of each of so many sequences, in the range as far as the limits allow; at least 1.
std::uint64_t HeldOutDraw::context(std::uint64_t sequences, std::uint64_t low, std::uint64_t high) {
  high = std::min({high, std::uint64_t{limits_.max_context} - 1, limits_.max_kv_tokens / sequences});
  high = std::max<std::uint64_t>(high, 1);
  return number(std::min(low, high), high);
}

oracle::SamplePoint HeldOutDraw::rows() {
  const std::uint64_t rows = number(1, RowCandidates(operation_, limits_).largest());
  return {rows};  // of experts: balanced
}

oracle::SamplePoint HeldOutDraw::decodes() {
  const std::uint64_t sequences = number(1, limits_.max_sequences);
  return {0, 0, 0, sequences, context(sequences, 64, limits_.max_context)};
}

oracle::SamplePoint HeldOutDraw::prefill() {
  const std::uint64_t most = std::min(limits_.max_batched_tokens, limits_.max_context - 1);
  const std::uint64_t query = number(std::min<std::uint64_t>(32, most), most);
  if ((random_() & 1) == 0) return {1, query, context(1, 64, limits_.max_context - query)};
  constexpr std::uint64_t kMostChunks = 8;
  const std::uint64_t chunks =
      number(1, std::min({kMostChunks, limits_.max_batched_tokens / query, std::uint64_t{limits_.max_sequences}}));
  return {chunks, query, 0};
}

oracle::SamplePoint HeldOutDraw::mixed() {
  oracle::SamplePoint point = prefill();
  point[0] = 1;
  const std::uint64_t free = limits_.max_batched_tokens - point[1];
  if (free == 0) return point;
  point[3] = number(1, std::min<std::uint64_t>(free, std::max(1u, limits_.max_sequences - 1)));
  point[4] = context(point[3], 64, limits_.max_context);
  return point;
}

/// A few that are 2 to 32 times as long as the others.
oracle::SamplePoint HeldOutDraw::ragged() {
  const std::uint64_t sequences = number(std::min(4u, limits_.max_sequences), limits_.max_sequences);
  if (sequences < 2) return decodes();
  const std::uint64_t many = number(1, sequences / 2);
  const std::uint64_t most = context(sequences, 128, limits_.max_context);
  return {0, 0, 0, sequences, std::max<std::uint64_t>(1, most / number(2, 32)), many, most};
}

HeldOutReport measure_held_out(Measurer& measurer, SampleArchive& archive, const std::vector<Operation>& operations,
                               const SamplesBySignature& fitted, std::size_t count, const SweepSettings& settings,
                               SweepObserver* observer) {
  return HeldOutRun(measurer, archive, settings, observer).run(operations, fitted, count);
}

}  // namespace dooly::profiling
