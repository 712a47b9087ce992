// One replica driven directly, without simulator: requests per second of the engine loop.
#include "replica_core/replica.hpp"

#include "oracle/fixed_oracle.hpp"
#include "schedulers/builtin.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace dooly;

class Counter final : public replica::ReplicaObserver {
 public:
  void scheduled(replica::RequestTag, double, std::uint32_t) override {}
  void first_token(replica::RequestTag, double, double) override {}
  void finished(const replica::Completion&) override { ++done; }
  void load_started(replica::RequestTag, std::uint32_t, std::uint32_t, double) override {}
  void token_gaps(std::uint16_t, double gap_s, std::uint64_t count) override { gaps.add(gap_s, count); }
  std::uint64_t done = 0;
  replica::GapHistogram gaps;
};

/// An H200 with an 8B model in round figures, host times included.
oracle::FixedOracle eight_billion() {
  oracle::Platform host;
  host.schedule = 0.08e-3, host.schedule_per_request = 0.016e-3;
  host.update = 0.08e-3, host.update_per_request = 0.009e-3;
  host.sample = 1.2e-3;
  host.launch_full.fixed = 1.6e-3, host.launch_piecewise.fixed = 10e-3, host.launch_none.fixed = 12e-3;
  host.delivery = 1e-3, host.delivery_per_request = 0.028e-3;
  return oracle::FixedOracle({.base = 4.8e-3, .per_token = 20e-6, .per_1000_context = 0.03e-3},
                             oracle::HostTimes(host, 32, 0),
                             oracle::CudaGraphs(oracle::CudaGraphs::default_sizes(1024, 8192)));
}

replica::EngineConfig config() {
  replica::EngineConfig config;
  config.num_blocks = 57489;
  return config;
}

struct Stage {
  Stage() : policy(schedulers::builtin_policies()[0].create({})), replica(config(), *policy, oracle, counter) {}
  oracle::FixedOracle oracle = eight_billion();
  Counter counter;
  std::unique_ptr<sdk::SchedulerPolicy> policy;
  replica::Replica replica;

  void submit(replica::RequestTag tag, double now_s, std::uint32_t prompt, std::uint32_t output) {
    replica::ReplicaRequest request;
    request.tag = tag;
    request.prompt = prompt;
    request.output = output;
    request.arrival_s = now_s;
    request.unique_key = tag + std::uint64_t{1};
    replica.catch_up(now_s);
    replica.submit(request, now_s);
  }
};

/// Requests per simulated second when all are there from the start.
double capacity() {
  constexpr std::uint32_t kRequests = 20000;
  Stage stage;
  for (std::uint32_t tag = 0; tag < kRequests; ++tag) stage.submit(tag, 0, 512, 512);
  while (stage.replica.next_turn_s() != replica::Replica::kNever) stage.replica.run_turn();
  return kRequests / stage.replica.clock_s();
}

/// 512 in, 512 out, Poisson arrivals at 90 % of what the replica can serve; fast-forward off or on.
void BM_Poisson512(benchmark::State& state) {
  constexpr std::uint32_t kRequests = 20000;
  static const double rate = 0.9 * capacity();
  std::uint64_t calls = 0;
  for (auto _ : state) {
    Stage stage;
    stage.replica.set_fast_forward(state.range(0) != 0);
    std::mt19937_64 engine(7);
    double now_s = 0;
    for (std::uint32_t tag = 0; tag < kRequests; ++tag) {
      now_s -= std::log1p(-static_cast<double>(engine() >> 11) * 0x1.0p-53) / rate;
      while (stage.replica.next_turn_s() < now_s) stage.replica.run_turn();
      stage.submit(tag, now_s, 512, 512);
    }
    while (stage.replica.next_turn_s() != replica::Replica::kNever) stage.replica.run_turn();
    if (stage.counter.done != kRequests) state.SkipWithError("requests are missing");
    calls += stage.replica.engine().calls();
  }
  const auto requests = static_cast<double>(state.iterations()) * kRequests;
  state.counters["requests/s"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
  state.counters["steps/s"] = benchmark::Counter(static_cast<double>(calls), benchmark::Counter::kIsRate);
  state.counters["steps/request"] = static_cast<double>(calls) / requests;
  state.counters["simulated requests/s"] = rate;
}
BENCHMARK(BM_Poisson512)->ArgName("fast_forward")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// 64 decode steps of a batch that nobody joins or leaves. Few iterations: contexts grow until the blocks are used up.
void BM_DecodeStep(benchmark::State& state) {
  Stage stage;
  stage.replica.set_fast_forward(state.range(1) != 0);
  const auto batch = static_cast<std::uint32_t>(state.range(0));
  for (std::uint32_t tag = 0; tag < batch; ++tag) stage.submit(tag, 0, 16, 100000);
  while (stage.replica.waiting() > 0 || stage.replica.engine().calls() < 64) stage.replica.run_turn();
  const std::uint64_t before = stage.replica.engine().calls();
  for (auto _ : state) {
    const std::uint64_t target = stage.replica.engine().calls() + 64;
    while (stage.replica.engine().calls() < target) stage.replica.run_turn();
  }
  state.counters["steps/s"] =
      benchmark::Counter(static_cast<double>(stage.replica.engine().calls() - before), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_DecodeStep)->ArgNames({"batch", "fast_forward"})->ArgsProduct({{1, 8, 64, 512}, {0, 1}})->Iterations(5);

}  // namespace
