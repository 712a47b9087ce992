#include "skew_fit.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dooly::import_ {
namespace {

TEST(SkewTimes, AlphaIsTheShareOfWhatTheLongestWouldAddToAll) {
  EXPECT_DOUBLE_EQ((SkewTimes{25, 20, 40}.alpha().value()), 0.25);
  EXPECT_FALSE((SkewTimes{25, 20, 20}.alpha()));
  EXPECT_FALSE((SkewTimes{25, 0, 20}.alpha()));  // the mean was not measured
}

TEST(SkewFit, WeighsByTheSquareOfTheGap) {
  SkewFit fit;
  fit.add({0, 0, 0, 8, 128, 1, 512}, {15, 10, 20});  // alpha 0.5, gap 10
  fit.add({0, 0, 0, 8, 256, 1, 1024}, {12, 10, 30});  // alpha 0.1, gap 20
  fit.add({0, 0, 0, 8, 256, 1, 1024}, {12, 10, 10});  // no gap
  // (0.5 x 100 + 0.1 x 400) / 500
  EXPECT_EQ(fit.csv(false),
            "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples\n0,n<=8,sr<=15%,kvB<=1k,kp=0,0.1800,2\n");
  EXPECT_NE(fit.meta(2).find("    2:\n      method: per_bucket_wls_5axis\n      n_samples: 2\n      alpha_default: "
                             "0.1800\n      bucket_table: tp2/skew_fit.csv\n"),
            std::string::npos);
}

TEST(SkewFit, NamesPredictions) {
  SkewFit fit;
  fit.add({1, 64, 4096, 2, 8192, 1, 32768}, {11, 10, 20});
  EXPECT_EQ(fit.csv(true),
            "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples,predicted_operators\n"
            "64,n<=2,sr<=70%,kvB>16k,kp<=4k,0.1000,1,attention\n");
}

TEST(SkewSweep, HasBatchesOfTwoLengthsOnce) {
  const auto batches = skew_sweep(32, 4, 1024);
  // 2 decodes: 1 long; 4: 1, 2, 3. Contexts 128 and 256. Alone, and beside 16 or 32 tokens on 0, 512, 1,024.
  EXPECT_EQ(batches.size(), 4u * 2 * (1 + 2 * 3));
  EXPECT_EQ(std::set<oracle::SamplePoint>(batches.begin(), batches.end()).size(), batches.size());
  EXPECT_EQ(batches.front(), (oracle::SamplePoint{0, 0, 0, 2, 128, 1, 512}));
  EXPECT_EQ(mean_context(batches.front()), 320u);
}

}  // namespace
}  // namespace dooly::import_
