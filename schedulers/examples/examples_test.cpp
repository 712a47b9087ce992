// Both components through the plug-in's own entries, as the program creates them.

#include "dooly/sdk/plugin.hpp"
#include "dooly/sdk/testing/fake_engine.hpp"
#include "dooly/sdk/testing/fake_router_view.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" const dooly::sdk::DoolyPlugin* dooly_plugin();

namespace {

using dooly::sdk::RequestId;
using dooly::sdk::testing::FakeEngine;
using dooly::sdk::testing::FakeRouterView;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

std::unique_ptr<dooly::sdk::SchedulerPolicy> make_policy(const char* preempt = "false") {
  return dooly_plugin()->policies[0].create(
      dooly::sdk::Options({{"aging", "0"}, {"window", "64"}, {"preempt", preempt}}));
}

std::unique_ptr<dooly::sdk::RouterPolicy> make_router() {
  const dooly::sdk::RouterEntry& entry = dooly_plugin()->routers[0];
  return entry.create(dooly::sdk::default_options(entry.options));
}

void the_shortest_waiting_job_goes_first() {
  FakeEngine engine(
      {.limits = {.max_num_batched_tokens = 512, .max_num_seqs = 1, .max_model_len = 4096, .block_size = 16},
       .grant_output_lengths = true});
  engine.add({.prompt = 300, .output = 50});
  const RequestId shortest = engine.add({.prompt = 20, .output = 5});
  const auto policy = make_policy();
  const auto step = engine.step(*policy);
  expect(step.scheduled.size() == 1 && step.scheduled[0].first == shortest, "the shortest job runs first");
  expect(1 + engine.run(*policy, 1000) == 55, "one after the other: 5 and 50 steps");
}

void an_urgent_request_takes_the_place_of_another() {
  FakeEngine engine(
      {.limits = {.max_num_batched_tokens = 512, .max_num_seqs = 1, .max_model_len = 4096, .block_size = 16}});
  const RequestId patient = engine.add({.prompt = 100, .output = 50, .priority = 1});
  const auto policy = make_policy("true");
  engine.step(*policy);
  const RequestId urgent = engine.add({.prompt = 100, .output = 5, .priority = 0});
  const auto step = engine.step(*policy);
  expect(step.preempted.size() == 1 && step.preempted[0] == patient, "the running one gives way");
  expect(engine.running().size() == 1 && engine.running()[0] == urgent, "the urgent one runs at once");
  engine.run(*policy, 1000);
  expect(engine.is_idle(), "both finish");
}

void everything_finishes_when_blocks_are_short() {
  FakeEngine engine({.blocks = 40, .grant_output_lengths = true});
  for (std::uint32_t i = 0; i < 12; ++i) engine.add({.prompt = 100 + 20 * i, .output = 60});
  const auto policy = make_policy();
  engine.run(*policy, 20000);
  expect(engine.is_idle(), "every request finishes");
  expect(engine.free_blocks() == 40, "every block is free again");
}

void prompts_are_split_by_length() {
  const FakeRouterView pool({{.tokens = 900}, {.tokens = 100}, {.tokens = 0}, {.tokens = 0}});
  const auto router = make_router();
  expect(router->pick(pool, {.prompt = 1024}) == 1, "a short prompt: the less loaded of replicas 0 and 1");
  expect(router->pick(pool, {.prompt = 1025}) == 2, "a long prompt: the lowest number of the equally loaded 2 and 3");
}

}  // namespace

int main() {
  the_shortest_waiting_job_goes_first();
  an_urgent_request_takes_the_place_of_another();
  everything_finishes_when_blocks_are_short();
  prompts_are_split_by_length();
  std::puts("passed");
}
