#include "profiling_measure/device_records.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace dooly::profiling {

namespace {

// CUPTI 13: cupti_activity.h.
constexpr int kCopy = 1, kFill = 2, kKernel = 10;  // CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _CONCURRENT_KERNEL
constexpr std::array kKinds{kCopy, kFill, kKernel};
constexpr std::size_t kStart = 16, kEnd = 24;     // in the records of all three
constexpr std::size_t kGridX = 52, kName = 104;  // of a kernel
constexpr unsigned kForced = 1;                  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr std::size_t kBufferBytes = std::size_t{1} << 20, kAlignment = 8;

template <class Value>
Value field(const std::uint8_t* record, std::size_t offset) {
  Value value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

void check(int status, const char* call) {
  if (status != 0) throw ProfilingError(fmt::format("times of kernels: {} answers CUPTI error {}", call, status));
}

}  // namespace

DeviceRecords& DeviceRecords::instance() {
  static DeviceRecords records;
  return records;
}

DeviceRecords::DeviceRecords() : library_("libcupti.so.13") {
  using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
  using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
  find("cuptiActivityEnable", enable_);
  find("cuptiActivityDisable", disable_);
  find("cuptiActivityFlushAll", flush_);
  find("cuptiActivityGetNextRecord", next_);
  int (*hand_over)(Request, Complete) = nullptr;
  find("cuptiActivityRegisterCallbacks", hand_over);
  check(hand_over(give_buffer, read_buffer), "cuptiActivityRegisterCallbacks");
}

template <class Function>
void DeviceRecords::find(const char* name, Function*& into) {
  into = library_.find<Function>(name);
  if (into == nullptr) {
    throw ProfilingError(fmt::format("times of kernels: libcupti.so.13 {} {}",
                                     library_.is_loaded() ? "lacks" : "cannot be loaded, for", name));
  }
}

void DeviceRecords::enable(bool on) const {
  for (const int kind : kKinds) {
    check((on ? enable_ : disable_)(kind), on ? "cuptiActivityEnable" : "cuptiActivityDisable");
  }
}

std::vector<DeviceRecord> DeviceRecords::take() {
  check(flush_(kForced), "cuptiActivityFlushAll");
  const std::lock_guard lock(mutex_);
  std::stable_sort(records_.begin(), records_.end(),
                   [](const DeviceRecord& a, const DeviceRecord& b) { return a.start_ns < b.start_ns; });
  return std::exchange(records_, {});
}

void DeviceRecords::give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void DeviceRecords::read_buffer(void* /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer, std::size_t /*size*/,
                                std::size_t filled) {
  DeviceRecords& self = instance();
  const std::lock_guard lock(self.mutex_);
  std::uint8_t* record = nullptr;
  while (filled > 0 && self.next_(buffer, filled, &record) == 0) self.read(record);
  std::free(buffer);
}

void DeviceRecords::read(const std::uint8_t* record) {
  const auto kind = field<std::int32_t>(record, 0);
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return;
  DeviceRecord& made = records_.emplace_back();
  made.start_ns = field<std::uint64_t>(record, kStart);
  made.end_ns = field<std::uint64_t>(record, kEnd);
  made.name = kind == kCopy ? "copy" : kind == kFill ? "fill" : "kernel";
  if (kind != kKernel) return;
  const char* name = field<const char*>(record, kName);
  if (name != nullptr) made.name = name;
  made.grid_blocks = 1;
  for (const std::size_t axis : {0U, 1U, 2U}) {
    made.grid_blocks *= field<std::int32_t>(record, kGridX + axis * sizeof(std::int32_t));
  }
}

RecordingDevice::~RecordingDevice() {
  try {
    DeviceRecords::instance().enable(false);
  } catch (const ProfilingError&) {  // then it goes on recording for nobody
  }
}

std::string kernel_text(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  std::string text = status == 0 && plain ? plain.get() : symbol;
  if (text.starts_with("void ")) text.erase(0, 5);
  constexpr std::size_t kMost = 100;
  if (text.size() > kMost) text = text.substr(0, kMost) + "…";
  return text;
}

}  // namespace dooly::profiling
