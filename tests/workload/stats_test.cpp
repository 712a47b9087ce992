#include "workload/stats.hpp"

#include "support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace dooly::workload {
namespace {

using namespace test;

TEST(LengthCounts, PercentilesInterpolateBetweenClosestRanks) {
  LengthCounts lengths;
  for (const std::uint32_t value : {40, 10, 20, 30}) lengths.add(value);
  EXPECT_EQ(lengths.mean(), 25);
  EXPECT_EQ(lengths.percentile(0), 10);
  EXPECT_EQ(lengths.percentile(50), 25);
  EXPECT_EQ(lengths.percentile(90), 37);  // numpy.percentile([10, 20, 30, 40], 90)
  EXPECT_EQ(lengths.percentile(100), 40);
  EXPECT_EQ(lengths.between(10, 30), 2U);
}

// Gaps 1 and 3: mean 2, sample variance 2, CV sqrt(2) / 2.
TEST(WorkloadStats, CountsGapsAndSharing) {
  const TempFile file("t.jsonl",
                      "{\"timestamp\":0,\"input_length\":1100,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
                      "{\"timestamp\":1000,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[1,2]}\n"
                      "{\"timestamp\":4000,\"input_length\":512,\"output_length\":1,\"hash_ids\":[9]}\n");
  const auto source = open_trace_workload(file.path());
  WorkloadStats stats;
  Request request;
  while (source->next_arrival_s() < kNever) {
    source->take(request);
    stats.add(request);
  }
  EXPECT_EQ(stats.requests(), 3U);
  EXPECT_DOUBLE_EQ(stats.gaps().cv(), std::sqrt(2.0) / 2);
  EXPECT_DOUBLE_EQ(stats.shared_prompt_share(), 1024.0 / (1100 + 1024 + 512));
}

TEST(WorkloadStats, AConversationSharesWhatWasSaid) {
  const TempFile file("t.csv", "arrival_s,prompt_tokens,output_tokens,session,after_s\n0,100,10,1,\n,140,10,1,2\n");
  std::ostringstream out;
  print_stats(*open_trace_workload(file.path()), out);
  EXPECT_NE(out.str().find("45.8 % of the prompt tokens"), std::string::npos) << out.str();  // 110 of 240
  EXPECT_NE(out.str().find("sessions        1, 2.00 turns each"), std::string::npos) << out.str();
}

TEST(WorkloadStats, PrintsATableAndHistograms) {
  const TempFile file("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,1\n1,20,2\n2,12,2\n");
  std::ostringstream out;
  print_stats(*open_trace_workload(file.path()), out);
  EXPECT_EQ(out.str(), R"(requests      3
arrivals      0 s to 2 s, 1 requests/s
burstiness    0.000 (standard deviation of the gaps / mean gap; Poisson: 1)

tokens                mean         min         p50         p90         p95         p99         max
prompt                14.0          10          12        18.4        19.2       19.84          20
output                 1.7           1           2           2           2           2           2

prefix sharing  0.0 % of the prompt tokens, in 0.0 % of the requests, were seen before

prompt tokens
         8 - 15                 2  ##################################################
        16 - 31                 1  #########################

output tokens
         1 - 1                  1  #########################
         2 - 3                  2  ##################################################
)");
}

}  // namespace
}  // namespace dooly::workload
