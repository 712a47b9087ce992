#include "dooly_process.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dooly::cli {
namespace {

using Points = std::vector<std::pair<std::uint64_t, double>>;

void write(const std::string& path, const Points& points) {
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  store::PortableSink sink(path);
  sink.environment(environment);
  for (const auto& [tokens, median_s] : points) {
    oracle::Sample sample;
    sample.point = {tokens};
    sample.regime = oracle::ClockRegime::kCool;
    sample.median_s = median_s;
    sink.sample(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 4096, 4096), sample);
  }
  sink.finish();
}

/// Microseconds, a straight line.
Points line(std::uint64_t first, std::uint64_t step, double factor = 1) {
  Points points;
  for (std::uint64_t tokens = first; tokens <= 8192; tokens += step)
    points.emplace_back(tokens, factor * 1e-6 * double(tokens));
  return points;
}

/// Median error in % that the line of `kind` says.
double median_of(const std::string& out, const std::string& kind, std::size_t points) {
  const std::size_t at = out.find("  " + kind);
  if (at == std::string::npos) return -1;
  const std::size_t count = out.find(std::to_string(points), at);
  return std::stod(out.substr(out.find("  ", count)));
}

TEST(Score, SaysHowFarTheFitMissesPointsThatItWasNotMadeOf) {
  const Scratch scratch;
  const std::string fitted = scratch.name("fitted.jsonl.zst"), same = scratch.name("same.jsonl.zst"),
                    slower = scratch.name("slower.jsonl.zst");
  write(fitted, line(64, 64));
  write(same, line(96, 512));
  write(slower, line(96, 512, 1.25));
  const ProcessResult good = dooly({"score", fitted, same});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_GE(median_of(good.out, "linear", 16), 0) << good.out;
  EXPECT_LT(median_of(good.out, "linear", 16), 2) << good.out;
  const ProcessResult bad = dooly({"score", fitted, slower});
  EXPECT_NEAR(median_of(bad.out, "linear", 16), 20, 2) << bad.out;
}

TEST(Score, PointsOfTheFitAreNotHeldOut) {
  const Scratch scratch;
  const std::string fitted = scratch.name("fitted.jsonl.zst");
  write(fitted, line(64, 64));
  const ProcessResult result = dooly({"score", fitted, fitted});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, fitted + ": its 128 points of operators that " + fitted +
                            " has are all in there, so the fit was made of them and tells no error; points are "
                            "measured apart by dooly profile model --held-out N\n");
  EXPECT_EQ(dooly({"score", fitted, scratch.name("nothing.jsonl.zst")}).code, 2);
}

TEST(Score, TakesStoresByNameAsOne) {
  const Scratch scratch;
  write(scratch.name("s-1.jsonl.zst"), line(64, 128));
  write(scratch.name("s-2.jsonl.zst"), line(128, 128));
  write(scratch.name("s.jsonl"), line(64, 64));
  const std::string held_out = scratch.name("other.jsonl.zst");
  write(held_out, line(96, 512));
  const ProcessResult named = dooly({"score", scratch.name("s"), scratch.name("oth")});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, dooly({"score", scratch.name("s.jsonl"), held_out}).out);
  const ProcessResult none = dooly({"score", "no-such", held_out});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err.rfind("no-such: no such store: ", 0), 0u) << none.err;
  write(scratch.name("s-3.jsonl.zst"), {{64, 1.0}});
  EXPECT_NE(dooly({"score", scratch.name("s"), held_out}).err.find("these stores contradict each other"),
            std::string::npos);
}

/// Two operators, of which one has kernels of a library whose version its environment names.
void write_with_experts(const std::string& path, const std::string& triton) {
  oracle::Environment environment;
  environment.gpu = "H200-SXM";
  environment.source = "measured";
  store::PortableSink sink(path);
  const auto put = [&](const oracle::OperatorKey& key, oracle::SamplePoint point, double factor) {
    oracle::Sample sample;
    sample.point = point;
    sample.regime = oracle::ClockRegime::kCool;
    sample.median_s = factor * 1e-6 * double(point[0]);
    sink.sample(key, sample);
  };
  for (std::uint64_t tokens = 64; tokens <= 4096; tokens += 64) {
    environment.libraries.erase("triton");
    sink.environment(environment);
    put(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 4096, 4096), {tokens}, 1);
    environment.libraries["triton"] = triton;
    sink.environment(environment);
    put(oracle::moe_experts_key("bfloat16", "bfloat16",
                                {.hidden = 2048, .intermediate = 768, .local_experts = 128, .top_k = 8}),
        {tokens, 128, 0}, 2);
  }
  sink.finish();
}

TEST(Score, OperatorsOfOneFileMayNameDifferentKernelLibraries) {
  const Scratch scratch;
  const std::string fitted = scratch.name("fitted.jsonl.zst"), same = scratch.name("same.jsonl.zst"),
                    other = scratch.name("other.jsonl.zst"), both = scratch.name("both.jsonl.zst");
  write_with_experts(fitted, "3.6.0");
  write(same, line(96, 512));
  const ProcessResult result = dooly({"score", fitted, same});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err.find("another environment"), std::string::npos) << result.err;
  write_with_experts(other, "3.7.0");
  EXPECT_NE(dooly({"score", fitted, other}).err.find("was measured in another environment"), std::string::npos);
  write_with_experts(both, "3.6.0");
  write_with_experts(both, "3.7.0");  // adds to it
  EXPECT_NE(dooly({"score", both, same}).err.find("both.jsonl.zst: holds several environments"), std::string::npos);
}

TEST(Score, RefusesAFileOfSeveralEnvironments) {
  const Scratch scratch;
  const std::string one = scratch.name("one.jsonl.zst"), two = scratch.name("two.jsonl.zst");
  write(one, line(64, 64));
  store::PortableSink sink(two);
  for (const char* gpu : {"H200-SXM", "H100-SXM"}) {
    oracle::Environment environment;
    environment.gpu = gpu;
    environment.source = "measured";
    sink.environment(environment);
  }
  sink.finish();
  for (const auto& [fitted, held_out] : {std::pair{one, two}, std::pair{two, one}}) {
    const ProcessResult result = dooly({"score", fitted, held_out});
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_NE(result.err.find("two.jsonl.zst: holds several environments"), std::string::npos) << result.err;
  }
}

TEST(Score, APointOfSeveralSetsCountsOnce) {
  const Scratch scratch;
  const std::string fitted = scratch.name("fitted.jsonl.zst"), one = scratch.name("one.jsonl.zst"),
                    copy = scratch.name("copy.jsonl.zst"), more = scratch.name("more.jsonl.zst");
  write(fitted, line(64, 64));
  write(one, line(96, 512));
  write(copy, line(96, 512));
  for (const std::string& same : {copy, scratch.name("./one.jsonl.zst")}) {
    const ProcessResult result = dooly({"score", fitted, one, same});
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_EQ(result.err, same + ": its points are all in " + one + " too: they would count twice\n");
  }
  Points points = line(96, 512);
  points.emplace_back(8224, 8224e-6);
  write(more, points);
  const ProcessResult result = dooly({"score", fitted, one, more});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_GE(median_of(result.out, "linear", 17), 0) << result.out;
  EXPECT_NE(result.out.find("16 points that an earlier HELD_OUT has too were left out\n"), std::string::npos);
}

}  // namespace
}  // namespace dooly::cli
