// Cost of one event in the pump, and of one flow in the fabric.
#include "sim/event_pump.hpp"
#include "sim/fabric.hpp"
#include "sim/plain_clock.hpp"

#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

namespace dooly::sim {
namespace {

/// Cheap numbers without state to share.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 33;
  }
  double fraction() { return static_cast<double>(next()) * 0x1p-31; }

 private:
  std::uint64_t state_;
};

/// Replicas that take turns of 8 to 12 ms.
class Turns : public PumpClient {
 public:
  explicit Turns(std::uint32_t replicas) : pump(replicas, *this) {
    for (std::uint32_t replica = 0; replica < replicas; ++replica) pump.set_turn(replica, numbers_.fraction() * 0.01);
  }
  void on_arrival(double) override {}
  double on_turn(std::uint32_t, double now_s) override {
    if (--left == 0) pump.stop();
    return now_s + 0.008 + 0.004 * numbers_.fraction();
  }
  EventPump pump;
  std::uint64_t left = 0;

 private:
  Numbers numbers_{1};
};

void BM_Turns(benchmark::State& state) {
  constexpr std::uint64_t kTurns = 1 << 20;
  for (auto _ : state) {
    state.PauseTiming();
    Turns turns(static_cast<std::uint32_t>(state.range(0)));
    PlainClock clock(turns.pump);
    turns.left = kTurns;
    state.ResumeTiming();
    turns.pump.run();
  }
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(kTurns);
  state.counters["turns/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Turns)->Arg(1)->Arg(8)->Arg(64)->Arg(1280)->Arg(10240)->Unit(benchmark::kMillisecond);

/// One-shot events, each of which posts the next.
class Signals : public PumpClient, public EventSink {
 public:
  explicit Signals(std::uint64_t open) : pump(0, *this) {
    pump.handle(EventKind::kSignal, *this);
    for (std::uint64_t id = 0; id < open; ++id) pump.post({numbers_.fraction(), EventKind::kSignal, id, 0});
  }
  void on_arrival(double) override {}
  double on_turn(std::uint32_t, double) override { return kNever; }
  void on_event(const Event& event) override {
    if (--left == 0) pump.stop();
    pump.post({event.time_s + numbers_.fraction(), EventKind::kSignal, event.id, 0});
  }
  EventPump pump;
  std::uint64_t left = 0;

 private:
  Numbers numbers_{1};
};

void BM_OneShots(benchmark::State& state) {
  constexpr std::uint64_t kEvents = 1 << 20;
  for (auto _ : state) {
    state.PauseTiming();
    Signals signals(static_cast<std::uint64_t>(state.range(0)));
    PlainClock clock(signals.pump);
    signals.left = kEvents;
    state.ResumeTiming();
    signals.pump.run();
  }
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(kEvents);
  state.counters["events/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_OneShots)->Arg(1)->Arg(64)->Arg(4096)->Unit(benchmark::kMillisecond);

/// 640 prefill and 640 decode replicas of 8 GPUs; flows of 1,024 tokens at 128,000/s.
class KvFlows : public PumpClient, public FlowListener {
 public:
  KvFlows() : pump(0, *this), fabric(plan(), pump) {}
  void run(std::uint64_t flows) {
    left_ = flows;
    pump.set_next_arrival(pump.now_s());
    pump.run();
  }
  void on_arrival(double now_s) override {
    const auto from = static_cast<std::uint32_t>(numbers_.next() % kHalf);
    const auto to = kHalf + static_cast<std::uint32_t>(numbers_.next() % kHalf);
    fabric.start_flow(from, to, 1024 * 131072, now_s, *this, 0);
    if (--left_ > 0) pump.set_next_arrival(now_s + 2 * numbers_.fraction() / 128000);
  }
  double on_turn(std::uint32_t, double) override { return kNever; }
  void flow_ended(std::uint64_t, double) override {}

  static constexpr std::uint32_t kHalf = 640;
  static PortPlan plan() {
    scenario::NodeGroup group;
    group.count = 2 * kHalf;
    std::vector<FlowEnd> ends;
    for (std::uint64_t node = 0; node < group.count; ++node)
      ends.push_back({.place = {.first_node = node, .nodes = 1, .first_gpu = 0, .gpus = group.gpus}});
    return {{.fabric = {}, .nodes = {group}}, std::vector<double>{450e9}, ends};
  }
  EventPump pump;
  Fabric fabric;

 private:
  std::uint64_t left_ = 0;
  Numbers numbers_{1};
};

void BM_KvFlows(benchmark::State& state) {
  static KvFlows flows;  // one SimGrid engine a process
  constexpr std::uint64_t kFlows = 100000;
  for (auto _ : state) flows.run(kFlows);
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(kFlows);
  state.counters["flows/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["most at once"] = static_cast<double>(flows.fabric.stats().max_concurrent);
}
BENCHMARK(BM_KvFlows)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dooly::sim
