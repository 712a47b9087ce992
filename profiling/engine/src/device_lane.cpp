#include "profiling_engine/step_runner.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace dooly::profiling {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::vector<std::int64_t> values_of(const at::Tensor& ids) {
  const at::Tensor host = ids.cpu().contiguous();
  return {host.const_data_ptr<std::int64_t>(), host.const_data_ptr<std::int64_t>() + host.numel()};
}

/// A thread that does one step after the other.
class ThreadLane final : public DeviceLane {
 public:
  ThreadLane() : thread_([this] { run(); }) {}
  ~ThreadLane() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void submit(const std::function<Work()>& layout) override {
    Work work = layout();
    {
      const std::lock_guard lock(mutex_);
      todo_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  StepResult collect() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !done_.empty(); });
    const Done done = std::move(done_.front());
    done_.pop_front();
    if (done.failure) std::rethrow_exception(done.failure);
    return done.result;
  }

 private:
  struct Done {
    StepResult result;
    std::exception_ptr failure;
  };

  void run() {
    while (true) {
      std::function<at::Tensor()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopped_ || !todo_.empty(); });
        if (stopped_) return;
        work = std::move(todo_.front());
        todo_.pop_front();
      }
      Done done = made(work);
      {
        const std::lock_guard lock(mutex_);
        done_.push_back(std::move(done));
      }
      changed_.notify_all();
    }
  }

  Done made(const std::function<at::Tensor()>& work) {
    Done done;
    const Clock::time_point begin = Clock::now();
    try {
      done.result.ids = values_of(work());
    } catch (...) {  // of any kind: the host sees it when it asks for the step
      done.failure = std::current_exception();
    }
    const Clock::time_point end = Clock::now();
    done.result.device_s = seconds(end - begin);
    done.result.gap_s = last_end_ ? seconds(begin - *last_end_) : 0;
    last_end_ = end;
    return done;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<at::Tensor()>> todo_;
  std::deque<Done> done_;
  bool stopped_ = false;
  std::optional<Clock::time_point> last_end_;
  std::thread thread_;  ///< last: it uses the others
};

/// A stream of a GPU, other than the default one. Launches on the caller's thread.
class StreamLane final : public DeviceLane {
 public:
  explicit StreamLane(c10::Device device)
      : guard_(device.type()),
        stream_(guard_.getStreamFromGlobalPool(device)),
        before_(guard_.exchangeStream(stream_)) {
    guard_.synchronizeDevice(device.index());  // what other streams have begun is there
  }
  ~StreamLane() override {
    stream_.synchronize();
    guard_.exchangeStream(before_);
  }
  StreamLane(const StreamLane&) = delete;
  StreamLane& operator=(const StreamLane&) = delete;

  void submit(const std::function<Work()>& layout) override {
    Step step{event(), event(), event(), {}};
    step.begin.record(stream_);
    const at::Tensor ids = layout()();
    step.end.record(stream_);
    step.ids = at::empty(ids.sizes(), at::TensorOptions().dtype(at::kLong).pinned_memory(true));
    step.ids.copy_(ids, true);
    step.copied.record(stream_);
    steps_.push_back(std::move(step));
  }

  StepResult collect() override {
    Step step = std::move(steps_.front());
    steps_.pop_front();
    step.copied.synchronize();
    StepResult result;
    result.ids = values_of(step.ids);
    result.device_s = step.begin.elapsedTime(step.end) * kMilli;
    result.gap_s = last_ ? last_->elapsedTime(step.begin) * kMilli : 0;
    last_ = std::move(step.end);
    return result;
  }

 private:
  static constexpr double kMilli = 1e-3;
  struct Step {
    c10::Event begin, end, copied;
    at::Tensor ids;
  };
  c10::Event event() const { return c10::Event(guard_.type(), c10::EventFlag::BACKEND_DEFAULT); }

  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_, before_;
  std::deque<Step> steps_;
  std::optional<c10::Event> last_;
};

}  // namespace

std::unique_ptr<DeviceLane> make_device_lane(c10::Device device) {
  if (device.is_cpu()) return std::make_unique<ThreadLane>();
  return std::make_unique<StreamLane>(device);
}

}  // namespace dooly::profiling
