#include "profiling_trace/pass_clock.hpp"

#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/shared_library.hpp"
#include "profiling_taint/taint_mode.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace dooly::profiling {

namespace {

// CUPTI 13: cupti_activity.h.
constexpr int kCopy = 1, kFill = 2, kKernel = 10;  // CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _CONCURRENT_KERNEL
constexpr std::array kKinds{kCopy, kFill, kKernel};
constexpr std::size_t kStart = 16, kEnd = 24, kName = 104;  // in the records of all three; the name is a kernel's
constexpr unsigned kForced = 1;                             // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr std::size_t kBufferBytes = std::size_t{1} << 20, kAlignment = 8;

template <class Value>
Value field(const std::uint8_t* record, std::size_t offset) {
  Value value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

/// What the device did since it was last asked. CUPTI hands buffers back on threads of its own, to functions without
/// a context: one for the process.
class DeviceRecords {
 public:
  struct Entry {
    std::string name;
    double seconds = 0;
  };

  static DeviceRecords& instance() {
    static DeviceRecords records;
    return records;
  }

  void enable(bool on) const {
    for (const int kind : kKinds) check((on ? enable_ : disable_)(kind), on ? "cuptiActivityEnable" : "…Disable");
  }

  std::vector<Entry> take() {
    check(flush_(kForced), "cuptiActivityFlushAll");
    const std::lock_guard lock(mutex_);
    return std::exchange(entries_, {});
  }

 private:
  using Record = std::uint8_t;
  using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
  using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

  DeviceRecords() : library_("libcupti.so.13") {
    find("cuptiActivityEnable", enable_);
    find("cuptiActivityDisable", disable_);
    find("cuptiActivityFlushAll", flush_);
    find("cuptiActivityGetNextRecord", next_);
    int (*hand_over)(Request, Complete) = nullptr;
    find("cuptiActivityRegisterCallbacks", hand_over);
    check(hand_over(give_buffer, read_buffer), "cuptiActivityRegisterCallbacks");
  }

  template <class Function>
  void find(const char* name, Function*& into) {
    into = library_.find<Function>(name);
    if (into == nullptr) {
      throw ProfilingError(fmt::format("times of kernels: libcupti.so.13 {} {}",
                                       library_.is_loaded() ? "lacks" : "cannot be loaded, for", name));
    }
  }

  static void check(int status, const char* call) {
    if (status != 0) throw ProfilingError(fmt::format("times of kernels: {} answers CUPTI error {}", call, status));
  }

  static void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
    *size = *buffer == nullptr ? 0 : kBufferBytes;
    *most_records = 0;  // as many as there is room for
  }

  static void read_buffer(void* /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer, std::size_t /*size*/,
                          std::size_t filled) {
    DeviceRecords& self = instance();
    const std::lock_guard lock(self.mutex_);
    for (Record* record = nullptr; filled > 0 && self.next_(buffer, filled, &record) == 0;) self.read(record);
    std::free(buffer);
  }

  void read(const Record* record) {
    const auto kind = field<std::int32_t>(record, 0);
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return;
    const auto start = field<std::uint64_t>(record, kStart), end = field<std::uint64_t>(record, kEnd);
    const char* name = kind == kCopy ? "copy" : kind == kFill ? "fill" : field<const char*>(record, kName);
    constexpr double kNanosecond = 1e-9;
    entries_.push_back({name == nullptr ? "kernel" : name, static_cast<double>(end - start) * kNanosecond});
  }

  SharedLibrary library_;
  int (*enable_)(int) = nullptr;
  int (*disable_)(int) = nullptr;
  int (*flush_)(std::uint32_t) = nullptr;
  int (*next_)(std::uint8_t*, std::size_t, std::uint8_t**) = nullptr;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Waits for the device around each operator, so what it did in between is that operator's.
class CudaClock final : public PassClock {
 public:
  CudaClock() { DeviceRecords::instance().enable(true); }
  ~CudaClock() override {
    try {
      DeviceRecords::instance().enable(false);
    } catch (const ProfilingError&) {  // then it goes on recording for nobody
    }
  }
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  PassTimes time(const std::function<void()>& pass) override {
    PassTimes times;
    (void)taken();
    const Untraced timed([&](const std::function<void()>& call) {
      add_outside(times);
      call();
      PassTimes::Operator& op = times.operators.emplace_back();
      for (DeviceRecords::Entry& entry : taken()) {
        op.seconds += entry.seconds;
        times.seconds += entry.seconds;
        const bool is_new = std::find(op.kernels.begin(), op.kernels.end(), entry.name) == op.kernels.end();
        if (is_new) op.kernels.push_back(std::move(entry.name));
      }
    });
    pass();
    add_outside(times);
    return times;
  }

 private:
  std::vector<DeviceRecords::Entry> taken() const {
    guard_.synchronizeDevice(guard_.getDevice().index());
    return DeviceRecords::instance().take();
  }

  void add_outside(PassTimes& times) const {
    for (const DeviceRecords::Entry& entry : taken()) {
      times.outside[entry.name] += entry.seconds;
      times.seconds += entry.seconds;
    }
  }

  c10::impl::VirtualGuardImpl guard_{c10::DeviceType::CUDA};
};

}  // namespace

std::unique_ptr<PassClock> make_cuda_clock() {
  load_cuda();
  return std::make_unique<CudaClock>();
}

}  // namespace dooly::profiling
