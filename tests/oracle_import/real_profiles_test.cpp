// The published profiles: row counts, a few values, and what the checks find in them.
#include "profile_folder.hpp"

#include "oracle/operator_keys.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::import_ {
namespace {

using test::MemorySamples;

struct Imported {
  MemorySamples samples;
  ImportReport report;
};

#define DOOLY_IMPORT_OR_SKIP(name, format, relative)                                      \
  Imported name;                                                                          \
  do {                                                                                    \
    const auto path = dooly::test::data_path(std::string("data/profiles/") + (relative)); \
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";          \
    name.report = import_profile(format, path, {}, name.samples);                         \
  } while (false)

std::uint64_t found(const ImportReport& report, const std::string& reason) {
  const auto at = report.findings.find(reason);
  return at == report.findings.end() ? 0 : at->second.count;
}

double median_us(const MemorySamples& samples, const oracle::OperatorKey& key, const oracle::SamplePoint& point) {
  for (const oracle::Sample& sample : samples.samples(signature_of(key)))
    if (sample.point == point) return sample.median_s * 1e6;
  return -1;
}

TEST(RealProfile, TellsItsFormat) {
  const std::pair<const char*, std::vector<std::string_view>> profiles[] = {{"aiconfigurator", {"aiconfigurator"}},
                                                                            {"apex", {"apex"}},
                                                                            {"frontier", {"frontier"}},
                                                                            {"infersim", {"infersim"}},
                                                                            {"llmservingsim", {"llmservingsim"}},
                                                                            {"llmservingsim_v0", {"llmservingsim-v0"}},
                                                                            {"splitwise", {"splitwise"}},
                                                                            {"vidur", {"vidur"}},
                                                                            {"vidur_fork_a30", {"frontier", "vidur"}}};
  for (const auto& [folder, formats] : profiles) {
    const auto path = dooly::test::data_path(std::string("data/profiles/") + folder);
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    EXPECT_EQ(possible_formats(path), formats) << folder;
  }
}

TEST(RealProfile, AIConfiguratorH200) {
  DOOLY_IMPORT_OR_SKIP(made, "aiconfigurator", "aiconfigurator/h200_sxm");
  EXPECT_EQ(made.report.files.size(), 9u);
  EXPECT_EQ(made.report.rows, 280035u);
  EXPECT_EQ(made.report.kinds.at("linear"), 107225u);
  EXPECT_EQ(made.report.kinds.at("attention"), 50830u + 62166u);
  EXPECT_EQ(made.report.kinds.at("moe_experts"), 48762u);
  EXPECT_EQ(made.report.kinds.at("mla_module"), 9774u);
  EXPECT_EQ(found(made.report, "faster than the device can be"), 0u);
  EXPECT_EQ(made.report.suspects, 36u);
  EXPECT_NEAR(median_us(made.samples, oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 12288, 65536), {32768}),
              63831.18, 0.01);
  EXPECT_NEAR(
      median_us(made.samples,
                oracle::attention_key("bfloat16", "bfloat16", {.heads = 64, .kv_heads = 1, .head_dim = 64}, "fa3"),
                {0, 0, 0, 32, 1}),
      11.1147, 0.001);
}

TEST(RealProfile, AIConfiguratorA100) {
  DOOLY_IMPORT_OR_SKIP(made, "aiconfigurator", "aiconfigurator/a100_sxm");
  EXPECT_EQ(made.report.rows, 29375u);
  EXPECT_EQ(made.report.kinds.at("mla_attention"), 880u + 1365u);
  EXPECT_EQ(made.report.kinds.at("linear"), 9240u);
}

TEST(RealProfile, LLMServingSim) {
  DOOLY_IMPORT_OR_SKIP(made, "llmservingsim", "llmservingsim");
  EXPECT_EQ(made.report.files.size(), 29u);
  EXPECT_EQ(made.report.rows, 225798u);
  EXPECT_EQ(made.report.kinds.at("moe_experts"), 50u);
  EXPECT_EQ(made.report.shared.size(), 3u);
  EXPECT_LT(made.report.suspects, 100u);
  const auto sums = std::count_if(made.report.notes.begin(), made.report.notes.end(), [](const std::string& note) {
    return note.find("sums over 3") != std::string::npos;
  });
  EXPECT_EQ(sums, 7);  // every skew.csv
  const auto experts = oracle::moe_experts_key("bfloat16", "bfloat16",
                                               {.hidden = 2048, .intermediate = 768, .local_experts = 128, .top_k = 8});
  EXPECT_NEAR(median_us(made.samples, experts, {1, 8}), 50.2297, 1e-6);
}

TEST(RealProfile, LLMServingSimV0) {
  DOOLY_IMPORT_OR_SKIP(made, "llmservingsim-v0", "llmservingsim_v0");
  EXPECT_EQ(made.report.files.size(), 10u);
  EXPECT_EQ(made.report.rows, 245361u);
  // Decodes of the A6000 table read the cache at 1.1 TB/s; the card has 0.77.
  EXPECT_GT(found(made.report, "faster than the device can be"), 20000u);
}

TEST(RealProfile, Vidur) {
  DOOLY_IMPORT_OR_SKIP(made, "vidur", "vidur");
  EXPECT_EQ(made.report.files.size(), 31u);
  EXPECT_EQ(made.report.rows, 59424u);
  EXPECT_EQ(made.report.kinds.at("host"), 2484u);
  EXPECT_GE(made.report.shared.size(), 40u);
  EXPECT_NEAR(median_us(made.samples, oracle::embedding_key("float16", 4096, 4096), {1}), 3, 1.5);
}

TEST(RealProfile, VidurForkHasImpossibleProducts) {
  DOOLY_IMPORT_OR_SKIP(made, "vidur", "vidur_fork_a30");
  EXPECT_EQ(made.report.rows, 4753u);
  EXPECT_EQ(found(made.report, "faster than the device can be"), 75u);
}

TEST(RealProfile, Frontier) {
  DOOLY_IMPORT_OR_SKIP(made, "frontier", "frontier");
  EXPECT_EQ(made.report.files.size(), 12u);
  EXPECT_EQ(made.report.rows, 35133u);
  EXPECT_EQ(found(made.report, "a ragged batch, which a point cannot hold"), 583u);
}

TEST(RealProfile, Splitwise) {
  DOOLY_IMPORT_OR_SKIP(made, "splitwise", "splitwise");
  EXPECT_EQ(made.report.rows, 1260u);
  EXPECT_EQ(made.report.kinds.at("iteration"), 384u);
}

TEST(RealProfile, Apex) {
  DOOLY_IMPORT_OR_SKIP(made, "apex", "apex");
  EXPECT_EQ(made.report.rows, 741u);
  EXPECT_EQ(made.report.files.size(), 10u);
}

TEST(RealProfile, InferSim) {
  DOOLY_IMPORT_OR_SKIP(made, "infersim", "infersim");
  EXPECT_EQ(made.report.files.size(), 36u);
  EXPECT_EQ(made.report.rows, 1875u);
}

}  // namespace
}  // namespace dooly::import_
