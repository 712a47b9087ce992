#include "profiling_engine/step_study.hpp"

#include "graph_inputs.hpp"
#include "profiling_engine/step_runner.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/cuda_graph.hpp"
#include "profiling_measure/device_records.hpp"
#include "profiling_measure/nvml.hpp"
#include "recording_kernels.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace dooly::profiling {

namespace {

using Handle = CudaRuntime::Handle;
using Launch = std::function<void()>;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A GPU's stream of our own, current while it lives.
class OwnStream {
 public:
  OwnStream() : stream_(guard_.getStreamFromGlobalPool(guard_.getDevice())), before_(guard_.exchangeStream(stream_)) {
    guard_.synchronizeDevice(guard_.getDevice().index());
  }
  ~OwnStream() {
    stream_.synchronize();
    guard_.exchangeStream(before_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  Handle handle() const { return guard_.getStreamNativeHandle(stream_); }
  void wait() const { stream_.synchronize(); }

 private:
  c10::impl::VirtualGuardImpl guard_{c10::DeviceType::CUDA};
  c10::Stream stream_, before_;
};

/// Times graphs: events lie inside, and launches before the timed one keep the device busy.
class GraphClock {
 public:
  explicit GraphClock(const OwnStream& stream) : stream_(stream) {
    for (Handle* event : {&start_, &stop_}) cuda_.check(cuda_.event_create(event), "cudaEventCreate");
  }
  ~GraphClock() {
    cuda_.event_destroy(start_);
    cuda_.event_destroy(stop_);
  }
  GraphClock(const GraphClock&) = delete;
  GraphClock& operator=(const GraphClock&) = delete;

  double seconds(const Launch& launch, int rounds) const {
    CudaGraph graph(cuda_);
    graph.capture(stream_.handle(), [&] {
      record(start_);
      launch();
      record(stop_);
    });
    std::vector<double> times;
    constexpr int kBefore = 2;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i <= kBefore; ++i) graph.launch(stream_.handle());
      stream_.wait();
      float milliseconds = 0;
      cuda_.check(cuda_.event_elapsed(&milliseconds, start_, stop_), "cudaEventElapsedTime");
      times.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    return median(std::move(times));
  }

  /// What one launch of the graph runs.
  std::vector<DeviceRecord> records(const Launch& launch) const {
    const RecordingDevice recording;
    CudaGraph graph(cuda_);
    graph.capture(stream_.handle(), launch);
    graph.launch(stream_.handle());
    stream_.wait();
    (void)recording.take();
    graph.launch(stream_.handle());
    stream_.wait();
    return recording.take();
  }

  double clock_mhz() const {
    std::array<char, 32> bus{};
    cuda_.check(cuda_.device_bus_id(bus.data(), static_cast<int>(bus.size()), 0), "cudaDeviceGetPCIBusId");
    return Nvml(bus.data()).reading().sm_clock_mhz;
  }

 private:
  void record(Handle event) const {
    constexpr unsigned kRecordExternal = 1;  // cudaEventRecordExternal: a captured event can be read by the host
    cuda_.check(cuda_.event_record_flags(event, stream_.handle(), kRecordExternal), "cudaEventRecordWithFlags");
  }

  const OwnStream& stream_;
  CudaRuntime cuda_;
  Handle start_ = nullptr, stop_ = nullptr;
};

double sum_of(const std::vector<DeviceRecord>& records) {
  double sum = 0;
  for (const DeviceRecord& record : records) sum += record.seconds();
  return sum;
}

/// Time within the launch in which nothing ran.
double gaps_of(const std::vector<DeviceRecord>& records) {
  double gaps = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  for (const DeviceRecord& record : records) {
    if (record.start_ns > end) gaps += static_cast<double>(record.start_ns - end) * 1e-9;
    end = end == std::numeric_limits<std::uint64_t>::max() ? record.end_ns : std::max(end, record.end_ns);
  }
  return gaps;
}

/// The batch, its blocks scattered over the cache.
std::vector<ScheduledPart> parts_of(const StudyBatch& batch, std::uint32_t blocks, std::uint32_t block_size,
                                    std::uint32_t groups) {
  std::vector<std::uint32_t> free(blocks - 1);
  std::iota(free.begin(), free.end(), 1U);
  std::mt19937_64 random(batch.requests * 1000003ULL + batch.context);
  for (std::size_t i = free.size(); i > 1; --i) std::swap(free[i - 1], free[random() % i]);
  std::vector<ScheduledPart> parts;
  auto next = free.begin();
  for (std::uint32_t request = 0; request < batch.requests; ++request) {
    ScheduledPart& part = parts.emplace_back();
    part.tag = request;
    part.sequence.tokens = {1 + request};
    part.sequence.computed = batch.context;
    for (std::uint32_t group = 0; group < groups; ++group) {
      const std::uint32_t count = batch.context / block_size + 1;
      part.sequence.blocks.emplace_back(next, next + count);
      next += count;
    }
  }
  return parts;
}

class Study {
 public:
  Study(const ModelFile& file, Kernels& kernels, const StudyBatch& batch, const StudyOptions& options)
      : kernels_(kernels),
        options_(options),
        model_(file.config, file.numbers, settings(), dims(file.config, batch, options), kernels_) {
    study_.batch = batch;
    step_.block_size = options.block_size;
    step_.device = settings().device;
    step_.groups = model_.cache_groups();
    step_.latent = model_.latent_rules();
    const auto blocks = static_cast<std::uint32_t>(model_.dims().blocks.expect_int());
    parts_ = parts_of(batch, blocks, options.block_size, step_.groups);
  }

  StepStudy make() {
    time_engine();
    const OwnStream stream;
    const GraphClock clock(stream);
    KvTensors cache = model_.make_cache();
    fill(cache);
    GraphInputs static_inputs(model_, step_, study_.batch.requests);
    static_inputs.write(parts_, study_.batch.requests);
    StepInputs inputs = static_inputs.view(study_.batch.requests);
    model_.plan_attention(inputs);
    kernels_.record(true);
    (void)model_.forward(inputs, cache);
    kernels_.record(false);
    calls_ = kernels_.take();
    stream.wait();
    const Launch forward = [&] { (void)model_.forward(inputs, cache); };
    study_.graph = clock.seconds(forward, options_.rounds);
    study_.clock_mhz = clock.clock_mhz();
    take_apart(clock, forward);
    return std::move(study_);
  }

 private:
  static ModelSettings settings() {
    ModelSettings made;
    made.device = c10::Device(c10::DeviceType::CUDA, 0);
    return made;
  }

  static ModelDims dims(const oracle::ModelConfig& config, const StudyBatch& batch, const StudyOptions& options) {
    const std::uint32_t positions =
        options.max_positions > 0 ? std::min(options.max_positions, config.max_position) : config.max_position;
    if (batch.context + 1 > positions) {
      throw ProfilingError("a decode at " + std::to_string(batch.context) + " tokens of context: the model ends at " +
                           std::to_string(positions));
    }
    std::uint32_t groups = 1;
    for (const KvPlace& place : kv_places(config, 1, options.block_size)) {
      groups = std::max(groups, static_cast<std::uint32_t>(place.group) + 1);
    }
    const std::uint32_t needed = batch.requests * (batch.context / options.block_size + 1) * groups + 1;
    if (options.blocks > 0 && options.blocks < needed) {
      throw ProfilingError("the batch needs " + std::to_string(needed) + " KV blocks, not " +
                           std::to_string(options.blocks));
    }
    return dims_of(config, 1, positions, options.block_size, std::max(options.blocks, needed));
  }

  /// Zeros would be read, but draw less power.
  static void fill(KvTensors& cache) {
    for (std::vector<at::Tensor>* half : {&cache.keys, &cache.values})
      for (at::Tensor& tensor : *half) tensor.uniform_(-1, 1);
  }

  void time_engine() {
    const auto requests = study_.batch.requests;
    StepRunner runner(model_, requests, {requests}, true, requests);
    std::vector<double> times;
    runner.submit(parts_);
    for (int round = 0; round < options_.rounds; ++round) {
      runner.submit(parts_);
      times.push_back(runner.collect().device_s);
    }
    (void)runner.collect();
    study_.engine = median(std::move(times));
  }

  Launch only(const std::function<bool(const std::string&)>& wanted) const {
    return [this, wanted] {
      for (const RecordingKernels::Call& call : calls_)
        if (wanted(call.kind)) call.again();
    };
  }

  void take_apart(const GraphClock& clock, const Launch& forward) {
    const int rounds = options_.rounds;
    study_.rebuilt = clock.seconds(only([](const std::string&) { return true; }), rounds);
    std::map<std::string, std::size_t> counts;
    for (const RecordingKernels::Call& call : calls_) ++counts[call.kind];
    for (const auto& [kind, count] : counts) {
      StudyPart& part = study_.parts.emplace_back();
      part.kind = kind;
      part.calls = count;
      const Launch these = only([&kind = kind](const std::string& other) { return other == kind; });
      const Launch others = only([&kind = kind](const std::string& other) { return other != kind; });
      part.alone = clock.seconds(these, rounds);
      part.missed = study_.rebuilt - clock.seconds(others, rounds);
      const std::vector<DeviceRecord> alone = clock.records(these);
      for (std::size_t i = 0; i < alone.size() / count; ++i) part.by_kernel.emplace_back(alone[i].name, StudyKernels());
    }
    const std::vector<DeviceRecord> inside = clock.records(forward);
    study_.kernels = sum_of(inside);
    study_.gaps = gaps_of(inside);
    attribute(inside, &StudyKernels::inside);
    take_kernels(clock);
    std::stable_sort(study_.parts.begin(), study_.parts.end(),
                     [](const StudyPart& a, const StudyPart& b) { return a.alone > b.alone; });
  }

  /// Kernels of each kind alone, and behind a read that empties the cache of everything else.
  void take_kernels(const GraphClock& clock) {
    constexpr std::int64_t kFlush = std::int64_t{64} << 20, kPage = std::int64_t{512} << 10, kPages = 4096;  // floats
    const auto floats = at::TensorOptions().dtype(at::kFloat).device(step_.device);
    const at::Tensor all = at::empty({kPage * kPages}, floats), other = all.narrow(0, 0, kFlush).zero_();
    constexpr std::int64_t kLine = 32;  // floats
    const at::Tensor lines = all.as_strided({kPages}, {kPage}), near = all.as_strided({kPages}, {kLine});
    for (StudyPart& part : study_.parts) {
      const auto with = [&](const std::function<void(const RecordingKernels::Call&)>& before) {
        return clock.records([&] {
          for (const RecordingKernels::Call& call : calls_) {
            if (call.kind != part.kind) continue;
            before(call);
            call.again();
          }
        });
      };
      const std::string only_kind = part.kind;
      attribute(with([](const RecordingKernels::Call&) {}), &StudyKernels::alone, only_kind);
      attribute(with([&](const RecordingKernels::Call&) { (void)other.sum(); }), &StudyKernels::cold, only_kind);
      attribute(with([&](const RecordingKernels::Call& call) {
                  (void)other.sum();
                  for (const at::Tensor& small : call.small) (void)small.sum();
                }),
                &StudyKernels::touched, only_kind);
      attribute(with([&](const RecordingKernels::Call&) { (void)lines.sum(); }), &StudyKernels::pages, only_kind);
      attribute(with([&](const RecordingKernels::Call&) { (void)near.sum(); }), &StudyKernels::near, only_kind);
    }
  }

  /// Kernels follow the order of the calls (of one kind, or of all); what no call launches is passed over: reads that
  /// empty the cache, sums of a parallel block.
  void attribute(const std::vector<DeviceRecord>& records, double StudyKernels::*into, const std::string& kind = {}) {
    std::map<std::string, StudyPart*> parts;
    for (StudyPart& part : study_.parts) parts[part.kind] = &part;
    auto record = records.begin();
    for (const RecordingKernels::Call& call : calls_) {
      if (!kind.empty() && call.kind != kind) continue;
      StudyPart& part = *parts.at(call.kind);
      for (auto& [name, times] : part.by_kernel) {
        while (record != records.end() && record->name != name) ++record;
        if (record == records.end()) return;
        times.*into += record->seconds();
        part.kernels.*into += (record++)->seconds();
      }
    }
  }

  RecordingKernels kernels_;
  const StudyOptions& options_;
  Model model_;
  StepSettings step_;
  std::vector<ScheduledPart> parts_;
  std::vector<RecordingKernels::Call> calls_;
  StepStudy study_;
};

}  // namespace

StudyKernels& StudyKernels::operator+=(const StudyKernels& other) {
  alone += other.alone;
  inside += other.inside;
  cold += other.cold;
  touched += other.touched;
  pages += other.pages;
  near += other.near;
  return *this;
}

StepStudy study_step(const ModelFile& model, Kernels& kernels, const StudyBatch& batch, const StudyOptions& options) {
  load_cuda();
  if (!kernels.can_be_captured()) {
    throw ProfilingError("a step's study: kernels '" + std::string(kernels.name()) + "' cannot be captured");
  }
  const c10::InferenceMode inference;
  return Study(model, kernels, batch, options).make();
}

}  // namespace dooly::profiling
