#include "profiling_trace/pass_clock.hpp"

#include "profiling_kernels/cuda.hpp"
#include "profiling_measure/device_records.hpp"
#include "profiling_taint/taint_mode.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace dooly::profiling {

namespace {

/// Waits for the device around each operator, so what it did in between is that operator's.
class CudaClock final : public PassClock {
 public:
  PassTimes time(const std::function<void()>& pass) override {
    PassTimes times;
    (void)taken();
    const Untraced timed([&](const std::function<void()>& call) {
      add_outside(times);
      call();
      PassTimes::Operator& op = times.operators.emplace_back();
      for (DeviceRecord& record : taken()) {
        op.seconds += record.seconds();
        times.seconds += record.seconds();
        const bool is_new = std::find(op.kernels.begin(), op.kernels.end(), record.name) == op.kernels.end();
        if (is_new) op.kernels.push_back(std::move(record.name));
      }
    });
    pass();
    add_outside(times);
    return times;
  }

 private:
  std::vector<DeviceRecord> taken() const {
    guard_.synchronizeDevice(guard_.getDevice().index());
    return recording_.take();
  }

  void add_outside(PassTimes& times) const {
    for (const DeviceRecord& record : taken()) {
      times.outside[record.name] += record.seconds();
      times.seconds += record.seconds();
    }
  }

  c10::impl::VirtualGuardImpl guard_{c10::DeviceType::CUDA};
  RecordingDevice recording_;
};

}  // namespace

std::unique_ptr<PassClock> make_cuda_clock() {
  load_cuda();
  return std::make_unique<CudaClock>();
}

}  // namespace dooly::profiling
