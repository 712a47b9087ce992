#include "gpu_load.hpp"
#include "kernel_names.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_measure/cuda_graph.hpp"
#include "profiling_measure/cuda_runtime.hpp"
#include "profiling_measure/device_lost.hpp"
#include "profiling_measure/gpu_name.hpp"
#include "profiling_measure/nvml.hpp"
#include "profiling_measure/timer.hpp"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace dooly::profiling {

namespace {

using Handle = CudaRuntime::Handle;

constexpr unsigned kNonBlocking = 1;       // cudaStreamNonBlocking
constexpr unsigned kRecordExternal = 1;    // cudaEventRecordExternal: a captured event can be read by the host
constexpr int kMultiprocessors = 16, kL2Bytes = 38;  // cudaDevAttr…

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Makes a stream of our own the one that LibTorch launches on, until the end of the process.
Handle take_stream(const CudaRuntime& cuda) {
  Handle stream = nullptr;
  cuda.check(cuda.stream_create(&stream, kNonBlocking), "cudaStreamCreateWithFlags");
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  // A foreign stream's id is its address (c10/cuda/CUDAStream.cpp).
  guard.exchangeStream(c10::Stream(c10::Stream::UNSAFE, guard.getDevice(), reinterpret_cast<c10::StreamId>(stream)));
  return stream;
}

/// Two events around launches on one stream.
class EventPair {
 public:
  explicit EventPair(const CudaRuntime& cuda) : cuda_(&cuda) {
    cuda.check(cuda.event_create(&start_), "cudaEventCreate");
    cuda.check(cuda.event_create(&stop_), "cudaEventCreate");
  }
  ~EventPair() {
    cuda_->event_destroy(start_);
    cuda_->event_destroy(stop_);
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  void record_start(Handle stream, unsigned flags) const {
    cuda_->check(cuda_->event_record_flags(start_, stream, flags), "cudaEventRecordWithFlags");
  }
  void record_stop(Handle stream, unsigned flags) const {
    cuda_->check(cuda_->event_record_flags(stop_, stream, flags), "cudaEventRecordWithFlags");
  }
  /// Waits for the second.
  double seconds() const {
    cuda_->check(cuda_->event_synchronize(stop_), "cudaEventSynchronize");
    float milliseconds = 0;
    cuda_->check(cuda_->event_elapsed(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  const CudaRuntime* cuda_;
  Handle start_ = nullptr, stop_ = nullptr;
};

/// Launches captured as one CUDA graph, its events inside: the host's part in starting the graph is not in the time.
class CapturedWork final : public TimedWork {
 public:
  CapturedWork(const CudaRuntime& cuda, const Nvml& nvml, Handle stream)
      : cuda_(&cuda),
        nvml_(&nvml),
        stream_(stream),
        events_(cuda),
        graph_(cuda) {}

  /// Throws if what is launched cannot be captured; the stream is then as before.
  void capture(const std::function<void()>& launch) {
    graph_.capture(stream_, [&] {
      events_.record_start(stream_, kRecordExternal);
      launch();
      events_.record_stop(stream_, kRecordExternal);
    });
  }

  double run(DeviceReading& reading) override {
    graph_.launch(stream_);
    reading = nvml_->reading();
    cuda_->check(cuda_->stream_synchronize(stream_), "cudaStreamSynchronize");
    return events_.seconds();
  }

  bool is_captured() const override { return true; }

 private:
  const CudaRuntime* cuda_;
  const Nvml* nvml_;
  Handle stream_;
  EventPair events_;
  CudaGraph graph_;
};

/// Launches by the host, for operators that wait for the device in between.
class LaunchedWork final : public TimedWork {
 public:
  LaunchedWork(const CudaRuntime& cuda, const Nvml& nvml, Handle stream, std::function<void()> launch)
      : cuda_(&cuda),
        nvml_(&nvml),
        stream_(stream),
        events_(cuda),
        launch_(std::move(launch)) {}

  double run(DeviceReading& reading) override {
    events_.record_start(stream_, 0);
    launch_();
    events_.record_stop(stream_, 0);
    reading = nvml_->reading();
    cuda_->check(cuda_->stream_synchronize(stream_), "cudaStreamSynchronize");
    return events_.seconds();
  }

  bool is_captured() const override { return false; }

 private:
  const CudaRuntime* cuda_;
  const Nvml* nvml_;
  Handle stream_;
  EventPair events_;
  std::function<void()> launch_;
};

class CudaTimer final : public Timer {
 public:
  CudaTimer() : nvml_(cuda_.bus_id(0)), stream_(take_stream(cuda_)) {}

  std::unique_ptr<TimedWork> prepare(const Run& run, std::uint32_t launches, std::size_t copies) override {
    auto launch = [run, launches, copies] {
      for (std::uint32_t i = 0; i < launches; ++i) {
        run(i % copies);
      }
    };
    run(0);  // workspaces and lazily loaded kernels must be there before a capture
    cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
    auto captured = std::make_unique<CapturedWork>(cuda_, nvml_, stream_);
    try {
      captured->capture(launch);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception&) {
      cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
      return std::make_unique<LaunchedWork>(cuda_, nvml_, stream_, std::move(launch));
    }
    return captured;
  }

  double now() override { return steady_seconds(); }
  void pause(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  void heat(double seconds) override {
    if (!load_) {
      load_ = std::make_unique<GpuLoad>();
      load_work_ = prepare([this](std::size_t) { load_->run(); }, 1, 1);
      DeviceReading unused;
      load_work_->run(unused);
      load_s_ = load_work_->run(unused);
    }
    DeviceReading unused;
    const auto rounds = static_cast<int>(std::ceil(seconds / load_s_));
    for (int round = 0; round < rounds; ++round) {  // the last is launched, not waited for: the work follows at once
      if (round + 1 < rounds) {
        load_work_->run(unused);
      } else {
        load_->run();
      }
    }
  }

  double top_clock_mhz() const override { return nvml_.top_clock_mhz(); }
  std::uint64_t cache_bytes() const override { return static_cast<std::uint64_t>(attribute(kL2Bytes)); }

  oracle::Environment environment() override {
    oracle::Environment environment;
    environment.gpu = table_gpu_name(nvml_.gpu_name());
    environment.multiprocessors = static_cast<std::uint32_t>(attribute(kMultiprocessors));
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda_.check(cuda_.memory_info(&free_bytes, &total_bytes), "cudaMemGetInfo");
    environment.memory_bytes = total_bytes;
    environment.driver = nvml_.driver();
    int version = 0;
    cuda_.check(cuda_.runtime_version(&version), "cudaRuntimeGetVersion");
    environment.cuda = std::to_string(version / 1000);
    return environment;
  }

  std::vector<std::string> kernels_of(const Run& run) override {
    return names_.of([&run] { run(0); });
  }

  void recover() override {
    cuda_.take_error();
    try {
      cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception&) {
      cuda_.take_error();
    }
    c10::getDeviceAllocator(c10::DeviceType::CUDA)->emptyCache();
  }

 private:
  int attribute(int which) const {
    int value = 0;
    cuda_.check(cuda_.device_attribute(&value, which, 0), "cudaDeviceGetAttribute");
    return value;
  }

  CudaRuntime cuda_;
  Nvml nvml_;
  Handle stream_;
  KernelNames names_;
  std::unique_ptr<GpuLoad> load_;
  std::unique_ptr<TimedWork> load_work_;
  double load_s_ = 0;
};

}  // namespace

std::unique_ptr<Timer> make_cuda_timer() {
  load_cuda();
  return std::make_unique<CudaTimer>();
}

}  // namespace dooly::profiling
