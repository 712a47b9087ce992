#include "progress.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

TEST(ProgressText, ShowsShareRateAndTimeLeft) {
  // 250,000 of 1,000,000 in 10 s: 25,000 a second, 750,000 left take 30 s
  const ProgressFigures figures{.ended = 250'000, .expected = 1'000'000, .simulated_s = 3725, .elapsed_s = 10};
  EXPECT_EQ(progress_line(figures), "250,000 of 1,000,000 requests (25 %), 25,000/s, 0:30 left, 1:02:05 simulated");
  EXPECT_EQ(progress_bar(figures), "[====            ] 25 %, 250,000 of 1,000,000, 25,000/s, 0:30 left");
}

TEST(ProgressText, WithoutATotalThereIsNoShare) {
  const ProgressFigures figures{.ended = 1'500, .expected = 0, .simulated_s = 59.9, .elapsed_s = 3};
  EXPECT_EQ(progress_bar(figures), "1,500 requests, 500/s, 0:59 simulated");
}

TEST(ProgressText, AWorkloadThatEndsByTimeHasAShareOfIt) {
  // 60 of 600 s in 3 s of ours: 540 left take 27 s.
  const ProgressFigures figures{.ended = 1'500, .expected = 0, .duration_s = 600, .simulated_s = 60, .elapsed_s = 3};
  EXPECT_EQ(progress_line(figures), "1,500 requests (10 %), 500/s, 0:27 left, 1:00 of 10:00 simulated");
  EXPECT_EQ(progress_bar(figures), "[=               ] 10 %, 1:00 of 10:00 simulated, 500/s, 0:27 left");
}

TEST(ProgressText, TheBarFitsATerminal) {
  const ProgressFigures figures{.ended = 555'555'555, .expected = 999'999'999, .simulated_s = 1e6, .elapsed_s = 400};
  EXPECT_LT(progress_bar(figures).size(), 80u) << progress_bar(figures);
}

TEST(ProgressText, NothingEndedYet) {
  EXPECT_EQ(progress_line({.ended = 0, .expected = 10, .simulated_s = 0, .elapsed_s = 1}),
            "0 of 10 requests (0 %), 0:00 simulated");
}

TEST(ProgressText, MoreThanExpectedFillsTheBar) {
  const std::string bar = progress_bar({.ended = 30, .expected = 20, .simulated_s = 1, .elapsed_s = 1});
  EXPECT_EQ(bar.substr(0, 18), "[================]");
}

}  // namespace
}  // namespace dooly::cli
