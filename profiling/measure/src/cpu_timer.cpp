#include "profiling_measure/timer.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace dooly::profiling {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class CpuWork final : public TimedWork {
 public:
  CpuWork(Timer::Run run, std::uint32_t launches, std::size_t copies)
      : run_(std::move(run)),
        launches_(launches),
        copies_(copies) {}

  double run(DeviceReading& /*reading*/) override {
    const double start = steady_seconds();
    for (std::uint32_t launch = 0; launch < launches_; ++launch) {
      run_(launch % copies_);
    }
    return steady_seconds() - start;
  }

  bool is_captured() const override { return true; }  // nothing but the operator runs

 private:
  Timer::Run run_;
  std::uint32_t launches_;
  std::size_t copies_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? "CPU" : "CPU " + line.substr(colon + 2);
    }
  }
  return "CPU";
}

std::uint64_t of_system(int name, std::uint64_t otherwise) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : otherwise;
}

/// The steady clock around plain calls. A processor has no regimes that anybody could set: heat() does nothing.
class CpuTimer final : public Timer {
 public:
  std::unique_ptr<TimedWork> prepare(const Run& run, std::uint32_t launches, std::size_t copies) override {
    return std::make_unique<CpuWork>(run, launches, copies);
  }
  double now() override { return steady_seconds(); }
  void pause(double /*seconds*/) override {}
  void heat(double /*seconds*/) override {}
  double top_clock_mhz() const override { return 0; }
  std::uint64_t cache_bytes() const override {
    constexpr std::uint64_t kUsual = 32ULL << 20U;
    return of_system(_SC_LEVEL3_CACHE_SIZE, kUsual);
  }

  oracle::Environment environment() override {
    oracle::Environment environment;
    environment.gpu = processor_name();
    environment.multiprocessors = std::thread::hardware_concurrency();
    environment.memory_bytes = of_system(_SC_PHYS_PAGES, 0) * of_system(_SC_PAGESIZE, 0);
    return environment;
  }

  std::vector<std::string> kernels_of(const Run& /*run*/) override { return {}; }
  void recover() override {}
};

}  // namespace

std::unique_ptr<Timer> make_cpu_timer() { return std::make_unique<CpuTimer>(); }

}  // namespace dooly::profiling
