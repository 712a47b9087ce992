#include "dooly_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class InterruptRun : public testing::TestWithParam<int> {
 protected:
  Scratch scratch;
  std::string scenario = scratch.file("small.yaml", small_scenario());
  static std::string endless() { return "workload.synthetic.requests=1000000000"; }
  /// Whether a file without its name has content, within half a minute.
  bool started_to_write(const fs::path& directory) {
    std::error_code ignored;
    for (int i = 0; i < 3000; ++i, ::usleep(10'000)) {
      if (!fs::exists(directory)) continue;
      for (const fs::path& file : unfinished_files(directory))
        if (const std::uintmax_t size = fs::file_size(file, ignored); !ignored && size > 0) return true;
    }
    return false;
  }
};

TEST_P(InterruptRun, WritesPartialResultsAndMarksThem) {
  DoolyProcess run({"run", scenario, "--set", endless(), "--out", scratch.name("out")});
  ASSERT_TRUE(started_to_write(scratch / "out"));
  run.send(GetParam());
  const ProcessResult result = run.wait();
  EXPECT_EQ(result.code, 130);
  EXPECT_NE(result.err.find("interrupted\npartial results in " + scratch.name("out") + "\n"), std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("PARTIAL     interrupted"), std::string::npos) << result.out;
  EXPECT_EQ(read_file(scratch / "out" / "PARTIAL"), "interrupted\n");
  const auto summary = nlohmann::json::parse(read_file(scratch / "out" / "summary.json"));
  const auto& requests = summary.at("requests");
  EXPECT_GT(requests.at("completed"), 0);
  EXPECT_EQ(requests.at("submitted").get<std::uint64_t>(),
            requests.at("completed").get<std::uint64_t>() + requests.at("unfinished").get<std::uint64_t>());
  EXPECT_TRUE(fs::exists(scratch / "out" / "requests.csv"));
}
INSTANTIATE_TEST_SUITE_P(Both, InterruptRun, testing::Values(SIGINT, SIGTERM));

TEST_F(InterruptRun, AnExportEndsWithTheRequestsSoFar) {
  DoolyProcess run({"run", scenario, "--set", endless(), "--quiet", "--export", scratch.name("received.csv")});
  ASSERT_TRUE(started_to_write(scratch.path()));
  run.send(SIGINT);
  EXPECT_EQ(run.wait().code, 130);
  EXPECT_EQ(dooly({"workload", "stats", scratch.name("received.csv")}).code, 0);
}

}  // namespace
}  // namespace dooly::cli
