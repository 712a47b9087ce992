#include "profiling_trace/pass_clock.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_taint/taint_mode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace dooly::profiling {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class CpuClock final : public PassClock {
 public:
  PassTimes time(const std::function<void()>& pass) override {
    PassTimes times;
    const Untraced timed([&](const std::function<void()>& call) {
      const double start = now();
      call();
      times.operators.push_back({now() - start, {}});
    });
    const double start = now();
    pass();
    times.seconds = now() - start;
    return times;
  }
};

constexpr int kLeast = 3;         // passes of a large model on a small machine are
constexpr double kEnough = 10;    // not repeated for longer than so many seconds

void add(PassTimes& sum, const PassTimes& more, double weight) {
  sum.seconds += weight * more.seconds;
  for (std::size_t i = 0; i < sum.operators.size(); ++i) {
    sum.operators[i].seconds += weight * more.operators[i].seconds;
  }
  for (const auto& [kernel, seconds] : more.outside) sum.outside[kernel] += weight * seconds;
}

}  // namespace

std::unique_ptr<PassClock> make_cpu_clock() { return std::make_unique<CpuClock>(); }

PassTimes time_passes(PassClock& clock, const std::function<void()>& pass, int passes) {
  const std::size_t operators = clock.time(pass).operators.size();
  std::vector<PassTimes> all;
  double spent = 0;
  for (int i = 0; i < std::max(passes, 1) && (i < kLeast || spent < kEnough); ++i) {
    all.push_back(clock.time(pass));
    spent += all.back().seconds;
    if (all.back().operators.size() != operators) {
      throw ProfilingError(
          fmt::format("passes of one batch call {} and {} operators", operators, all.back().operators.size()));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  const std::size_t faster = (all.size() + 1) / 2;
  PassTimes mean;
  for (const PassTimes::Operator& op : all.front().operators) mean.operators.push_back({0, op.kernels});
  for (std::size_t i = 0; i < faster; ++i) add(mean, all[i], 1 / static_cast<double>(faster));
  return mean;
}

}  // namespace dooly::profiling
