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

}  // namespace
}  // namespace dooly::profiling
