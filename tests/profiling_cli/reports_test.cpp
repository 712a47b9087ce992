#include "reports.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(SweepText, SaysThatADeviceWasDisturbed) {
  SweepReport report;
  report.operations.resize(3);
  report.operations[0].fold_error = 0.2;
  EXPECT_EQ(sweep_text(report, {}, false).find("Something else ran"), std::string::npos);
  report.operations[1].fold_error = 66;
  report.operations[2].fold_error = 1.5;
  EXPECT_NE(sweep_text(report, {}, false).find("2 signatures miss points left out by more than 100 %"),
            std::string::npos);
}

TEST(SweepText, AnUnfinishedSignatureHasNoLeftOutError) {
  SweepReport report;
  report.operations.resize(1);
  report.operations[0].points = 3;
  EXPECT_EQ(sweep_text(report, {}, false).find("0.0 %"), std::string::npos);
  report.operations[0].fold_error = 0.25;
  EXPECT_NE(sweep_text(report, {}, false).find("25.0 %"), std::string::npos);
  report.operations[0].fold_error = 0;
  report.operations[0].is_done = true;
  EXPECT_NE(sweep_text(report, {}, false).find("0.0 %"), std::string::npos);
}

Operation linear(std::uint64_t rows, const char* family) {
  oracle::OperatorKey key;
  key.kind = "linear";
  key.dims = {rows, 64};
  key.family = family;
  Operation made;
  made.key = key;
  made.signature = oracle::signature_of(key);
  return made;
}

TEST(TakeUnmeasurable, NamesWhatHasNoKernelsAndLeavesTheRest) {
  const Operation good = linear(1, "cublas"), quantised = linear(2, "fp8"), there = linear(3, "fp8");
  Operation collective = linear(4, "fp8");
  collective.binding = oracle::Binding::kCollective;  // others measure these
  Demands demands;
  demands.all = {{"a", "fa3", 1, {good, quantised, there, collective}}, {"b", "fa3", 1, {quantised, good}}};
  const std::vector<Unmeasurable> taken = take_unmeasurable(
      demands, {there.signature}, [](const std::string& backend, const oracle::OperatorKey& key) -> std::string {
        EXPECT_EQ(backend, "fa3");
        return key.family == "fp8" ? "only bfloat16 can be run" : "";
      });
  EXPECT_EQ(demands.all[0].operations.size(), 3u);
  EXPECT_EQ(demands.all[1].operations.size(), 1u);
  EXPECT_EQ(unmeasurable_text(taken),
            "1 signatures have no kernels here and are not counted:\n  linear 2x64 fp8: only bfloat16 can be run\n");
  EXPECT_EQ(unmeasurable_text({}), "");
}

}  // namespace
}  // namespace dooly::profiling
