#include "program_run.hpp"

#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace dooly::e2e {
namespace {

using nlohmann::json;

/// A measured run of vLLM 0.26 on one H200, Llama-3.1-8B, 512 tokens in and out in a closed loop, beside simulated
/// ones: with the roofline, and with a straight line through the measured device times (4.78 ms + 20 us a token + 29 us
/// for 1,000 tokens of context), which leaves the engine's own timing to judge. Printed; only rough agreement is
/// asserted.
struct Measured {
  const char* run;
  int clients, requests;
};
class RealEngine : public testing::TestWithParam<Measured> {};

json simulate(const Measured& measured, const Sets& sets) {
  Sets all{
      fmt::format("workload.synthetic={{requests: {}, arrivals: {{process: closed_loop, concurrency: {}}}, "
                  "prompt_tokens: 512, output_tokens: 512}}",
                  measured.requests, measured.clients)};
  all.insert(all.end(), sets.begin(), sets.end());
  const RunResult run = run_scenario("synthetic.yaml", all);
  EXPECT_EQ(run.process.code, 0) << run.process.err;
  return run.summary;
}

TEST_P(RealEngine, IsNotFarFromTheMeasuredOne) {
  const auto file = test::data_path(fmt::format("groundtruth-h200/Llama-3.1-8B/{}.run.json", GetParam().run));
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "missing " << file;
  const json measured = json::parse(cli::read_file(file));
  const json line =
      simulate(GetParam(), {"oracle={kind: fixed, base: 4781us, per_token: 20us, per_1000_context: 29us}"});
  const json roofline = simulate(GetParam(), {});
  const auto row = [](const std::string& name, const json& ttft, const json& tpot, double unit) {
    fmt::print("  {:10} TTFT mean {:7.1f} p50 {:7.1f} p99 {:7.1f} ms   TPOT mean {:6.2f} p99 {:6.2f} ms\n", name,
               ttft.at("mean").get<double>() * unit, ttft.at("p50").get<double>() * unit,
               ttft.at("p99").get<double>() * unit, tpot.at("mean").get<double>() * unit,
               tpot.at("p99").get<double>() * unit);
  };
  fmt::print("{}\n", GetParam().run);
  row("measured", measured.at("ttft_ms"), measured.at("tpot_ms"), 1);
  row("line", line.at("ttft_s"), line.at("tpot_s"), 1e3);
  row("roofline", roofline.at("ttft_s"), roofline.at("tpot_s"), 1e3);
  const auto ratio = [&](const char* simulated, const char* real) {
    return line.at(simulated).at("mean").get<double>() * 1e3 / measured.at(real).at("mean").get<double>();
  };
  EXPECT_GT(ratio("ttft_s", "ttft_ms"), 0.5);
  EXPECT_LT(ratio("ttft_s", "ttft_ms"), 2.0);
  EXPECT_GT(ratio("tpot_s", "tpot_ms"), 0.7);
  EXPECT_LT(ratio("tpot_s", "tpot_ms"), 1.4);
}
INSTANTIATE_TEST_SUITE_P(ClosedLoops, RealEngine,
                         testing::Values(Measured{"closed1", 1, 3}, Measured{"closed64", 64, 192},
                                         Measured{"closed256", 256, 512}));

}  // namespace
}  // namespace dooly::e2e
