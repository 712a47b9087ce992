#include "profiling_trace/pass_clock.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/trace_model.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

/// Answers with what it was given, pass by pass.
struct Scripted final : PassClock {
  explicit Scripted(std::vector<PassTimes> script) : times(std::move(script)) {}
  PassTimes time(const std::function<void()>& pass) override {
    pass();
    return times.at(next++);
  }
  std::vector<PassTimes> times;
  std::size_t next = 0;
};

PassTimes pass_of(double seconds, std::vector<double> operators) {
  PassTimes times{.seconds = seconds, .operators = {}, .outside = {{"stray", seconds / 4}}};
  for (const double op : operators) times.operators.push_back({op, {"kernel"}});
  return times;
}

TEST(PassClock, TheFasterHalfOfThePassesCountsWithTheirOwnOperators) {
  int runs = 0;
  Scripted clock({pass_of(0.9, {0.9, 0}), pass_of(0.4, {0.1, 0.2}), pass_of(5, {4, 1}), pass_of(0.8, {0.2, 0.4}),
                  pass_of(2, {0.1, 0.1})});
  const PassTimes mean = time_passes(
      clock, [&] { ++runs; }, 4);
  EXPECT_EQ(runs, 5);  // the first warms up
  EXPECT_DOUBLE_EQ(mean.seconds, 0.6);
  ASSERT_EQ(mean.operators.size(), 2U);
  EXPECT_DOUBLE_EQ(mean.operators[0].seconds, 0.15);
  EXPECT_DOUBLE_EQ(mean.operators[1].seconds, 0.3);
  EXPECT_EQ(mean.operators[1].kernels, std::vector<std::string>{"kernel"});
  EXPECT_DOUBLE_EQ(mean.outside.at("stray"), 0.15);
}

TEST(PassClock, SlowPassesAreNotRepeatedForLong) {
  int runs = 0;
  Scripted clock(std::vector<PassTimes>(20, pass_of(30, {20, 5})));
  EXPECT_DOUBLE_EQ(time_passes(
                       clock, [&] { ++runs; }, 12)
                       .seconds,
                   30);
  EXPECT_EQ(runs, 1 + 3);
}

TEST(PassClock, PassesOfOtherOperatorsCannotBeCompared) {
  Scripted clock({pass_of(4, {1, 2}), pass_of(4, {1})});
  EXPECT_THROW(time_passes(
                   clock, [] {}, 1),
               ProfilingError);
}

TEST(PassClock, OnACpuOperatorsAreAPartOfTheirPass) {
  constexpr const char* kConfig = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
    "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6})";
  const oracle::ModelConfig model = oracle::parse_model(kConfig, "small");
  const auto kernels = make_torch_kernels();
  const auto clock = make_cpu_clock();
  TraceSettings settings;
  settings.device = c10::DeviceType::CPU;
  settings.dtype = at::kFloat;
  settings.batch = mixed_batch();
  settings.clock = clock.get();
  const Trace trace = trace_model(model, parse_numbers(kConfig, model), *kernels, settings);
  double sum = 0;
  for (const TracedOperator& op : trace.operators) {
    EXPECT_GT(op.seconds, 0) << op.record.name;
    sum += op.seconds;
  }
  EXPECT_LT(sum, trace.seconds);
  EXPECT_TRUE(trace.outside.empty());
}

}  // namespace
}  // namespace dooly::profiling
