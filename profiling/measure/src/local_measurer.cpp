#include "profiling_measure/local_measurer.hpp"

#include "oracle/kernel_families.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/device_lost.hpp"
#include "profiling_measure/drift_watch.hpp"
#include "profiling_measure/inputs.hpp"
#include "profiling_measure/runnable.hpp"

#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <new>
#include <utility>

namespace dooly::profiling {

namespace {

constexpr double kDriftTolerance = 0.03;
constexpr double kDriftEvery = 30;
constexpr std::int64_t kReferenceSize = 4096;

at::Device device_of(const std::string& name) {
  if (name != "cpu" && name != "cuda") {
    throw ProfilingError(fmt::format("device '{}': allowed: cpu, cuda", name));
  }
  return {name == "cpu" ? at::kCPU : at::kCUDA};
}

/// LibTorch says that a processor's memory is exhausted in words alone.
bool tells_of_memory(const std::string& text) {
  return text.find("can't allocate memory") != std::string::npos || text.find("out of memory") != std::string::npos ||
         text.find("Storage size calculation overflowed") != std::string::npos;
}

std::string first_line(const char* text) {
  const std::string all(text);
  return all.substr(0, all.find('\n'));
}

class LocalMeasurer final : public Measurer {
 public:
  LocalMeasurer(std::unique_ptr<Timer> timer, std::unique_ptr<Kernels> kernels, const MeasureSettings& settings,
                std::map<std::string, std::string> libraries)
      : timer_(std::move(timer)),
        kernels_(std::move(kernels)),
        libraries_(std::move(libraries)),
        inputs_(device_of(settings.device), timer_->cache_bytes()),
        sampler_(*timer_, settings.limits),
        watches_drift_(settings.check_drift && settings.device == "cuda") {}

  oracle::Environment environment() override {
    oracle::Environment environment = timer_->environment();
    environment.libraries = libraries_;
    environment.source = "measured";
    return environment;
  }

  bool supports(const oracle::OperatorKey& key, std::string& why) override { return can_run(key, *kernels_, why); }

  oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                         oracle::ClockRegime regime) override {
    oracle::Sample sample;
    sample.point = point;
    sample.regime = regime;
    if (!can_run(key, *kernels_, sample.note)) {
      sample.status = oracle::SampleStatus::kUnsupported;
      return sample;
    }
    try {
      if (!is_conditioned_) {
        is_conditioned_ = true;
        sampler_.condition();
      }
      look_for_drift();
      time(key, sample);
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      fail(error, sample);
    }
    return sample;
  }

 private:
  void time(const oracle::OperatorKey& key, oracle::Sample& sample) {
    inputs_.begin(oracle::signature_of(key).hex());
    const Runnable runnable = make_runnable(key, sample.point, *kernels_, inputs_);
    const Timer::Run run = [&runnable](std::size_t copy) { runnable.run(copy); };
    sampler_.sample(run, runnable.copies, sample.regime, sample);
    sample.kernels = timer_->kernels_of(run);
    sample.kernel_family = oracle::kernel_family(sample.kernels);
    add_note(sample, runnable.note);
    hold_against(key, sample);
    if (!drift_.suspicion().empty()) {
      sample.status = oracle::SampleStatus::kSuspect;
      add_note(sample, drift_.suspicion());
    }
  }

  /// Kernels of another implementation than the key's are no measurement of it. What stands in for the engine's
  /// compiler is allowed, and runnables say so.
  static void hold_against(const oracle::OperatorKey& key, oracle::Sample& sample) {
    const oracle::FamilyMatch match = oracle::family_match(key, sample.kernel_family);
    if (match == oracle::FamilyMatch::kSame || match == oracle::FamilyMatch::kStandIn) return;
    if (match == oracle::FamilyMatch::kOther) sample.status = oracle::SampleStatus::kSuspect;
    add_note(sample, oracle::family_finding(key, sample.kernel_family));
  }

  static void add_note(oracle::Sample& sample, const std::string& note) {
    if (!note.empty()) sample.note += (sample.note.empty() ? "" : "; ") + note;
  }

  void fail(const std::exception& error, oracle::Sample& sample) {
    const bool memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                        dynamic_cast<const std::bad_alloc*>(&error) != nullptr || tells_of_memory(error.what());
    const oracle::SamplePoint point = sample.point;
    const oracle::ClockRegime regime = sample.regime;
    sample = {};
    sample.point = point;
    sample.regime = regime;
    if (dynamic_cast<const ProfilingError*>(&error) != nullptr) {
      sample.status = oracle::SampleStatus::kUnsupported;
    } else {
      sample.status = memory ? oracle::SampleStatus::kOutOfMemory : oracle::SampleStatus::kLaunchFailed;
    }
    sample.note = first_line(error.what());
    inputs_.clear();
    timer_->recover();
  }

  /// Time of one matrix product, in the cool regime; a second look after a rest before anything is held against the
  /// device.
  void look_for_drift() {
    if (!watches_drift_ || !drift_.is_due(timer_->now())) {
      return;
    }
    constexpr double kRest = 0.5;
    if (!drift_.accept(reference_s(), timer_->now())) {
      timer_->pause(kRest);
      drift_.accept(reference_s(), timer_->now());
    }
  }

  double reference_s() {
    if (!reference_.defined()) {
      reference_ = at::randn({kReferenceSize, kReferenceSize}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
    }
    oracle::Sample sample;
    sampler_.sample([this](std::size_t) { at::mm(reference_, reference_); }, 1, oracle::ClockRegime::kCool, sample);
    return sample.median_s;
  }

  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Kernels> kernels_;
  std::map<std::string, std::string> libraries_;
  Inputs inputs_;
  PointSampler sampler_;
  bool watches_drift_;
  bool is_conditioned_ = false;
  DriftWatch drift_{kDriftTolerance, kDriftEvery};
  at::Tensor reference_;
};

}  // namespace

std::unique_ptr<Measurer> make_measurer(std::unique_ptr<Timer> timer, std::unique_ptr<Kernels> kernels,
                                        const MeasureSettings& settings, std::map<std::string, std::string> libraries) {
  return std::make_unique<LocalMeasurer>(std::move(timer), std::move(kernels), settings, std::move(libraries));
}

std::unique_ptr<Measurer> make_measurer(const MeasureSettings& settings) {
  auto timer = device_of(settings.device).is_cpu() ? make_cpu_timer() : make_cuda_timer();
  std::map<std::string, std::string> libraries = {{"torch", TORCH_VERSION}};
  if (settings.kernels == "torch") {
    return make_measurer(std::move(timer), make_torch_kernels(), settings, std::move(libraries));
  }
  auto kernels = make_vllm_kernels(settings.kernels, settings.attention);
  libraries.merge(kernels->libraries());
  return make_measurer(std::move(timer), std::move(kernels), settings, std::move(libraries));
}

}  // namespace dooly::profiling
