#include "oracle_store/sources.hpp"

#include "random_store.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

namespace dooly::store {
namespace {

using test::message_of;
using test::Scratch;

std::vector<Record> measured(const std::string& gpu, const oracle::OperatorKey& key,
                             const std::vector<oracle::Sample>& samples) {
  const std::string environment = oracle::environment_id(test_environment(gpu));
  std::vector<Record> records = {EnvironmentRecord{environment, test_environment(gpu)},
                                 KeyRecord{oracle::signature_of(key), key}};
  for (const oracle::Sample& sample : samples)
    records.push_back(SampleRecord{environment, oracle::signature_of(key), sample});
  return records;
}

class Sources : public testing::Test {
 protected:
  Scratch scratch_;
  oracle::Signature one_ = oracle::signature_of(test_key(1)), two_ = oracle::signature_of(test_key(2));
};

TEST_F(Sources, DirectoriesAndFilesAnswerAsOne) {
  fill(scratch_ / "store", measured("A", test_key(1), {test_sample(8), test_sample(64)}));
  write_portable(scratch_ / "more", measured("A", test_key(1), {test_sample(16), test_sample(64)}));
  write_portable(scratch_ / "other", measured("A", test_key(2), {test_sample(1)}));
  const auto source = open_sample_source({scratch_ / "store", scratch_ / "more", scratch_ / "other"});
  EXPECT_EQ(source->samples(one_), (std::vector{test_sample(8), test_sample(16), test_sample(64)}));
  EXPECT_EQ(source->samples(two_), std::vector{test_sample(1)});
  EXPECT_TRUE(source->samples({}).empty());
  const std::vector<oracle::SampleSet> sets = source->sets();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_LT(sets[0].signature, sets[1].signature);
  for (const oracle::SampleSet& set : sets) {
    EXPECT_EQ(oracle::signature_of(set.key), set.signature);
    EXPECT_EQ(set.samples, source->samples(set.signature));
  }
  EXPECT_NE(source->describe().find("A, vllm 0.26.0, measured"), std::string::npos) << source->describe();
  EXPECT_NE(source->describe().find("more"), std::string::npos);
}

TEST_F(Sources, AnotherEnvironmentStandsInOnlyWhenAsked) {
  write_portable(scratch_ / "a", measured("A", test_key(1), {test_sample(8, 1e-5)}));
  write_portable(scratch_ / "b", measured("B", test_key(1), {test_sample(8, 2e-5)}));
  write_portable(scratch_ / "c", measured("B", test_key(2), {test_sample(8, 3e-5)}));
  const std::vector<std::filesystem::path> all = {scratch_ / "a", scratch_ / "b", scratch_ / "c"};
  const std::string refusal = message_of<StoreError>([&] { open_sample_source(all)->samples(one_); });
  EXPECT_NE(refusal.find(" was measured in 2 environments: "), std::string::npos) << refusal;
  for (const char* gpu : {"A", "B"})
    EXPECT_NE(refusal.find(oracle::environment_id(test_environment(gpu)).substr(0, 12)), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--environment, or of a scenario's oracle the key environment"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("the store may be listed twice"), std::string::npos) << refusal;
  EXPECT_EQ(open_sample_source(all)->samples(two_).at(0).median_s, 3e-5) << "only one has it";
  const std::vector<oracle::SampleSet> sets = open_sample_source(all)->sets();
  ASSERT_EQ(sets.size(), 1u) << "what nobody asks for makes no ambiguity";
  EXPECT_EQ(sets.front().signature, two_);
  const auto ranked = open_sample_source(all, [](const std::string&, const oracle::Environment& environment) {
    return std::optional(environment.gpu == "B" ? 0 : 1);
  });
  EXPECT_EQ(ranked->samples(one_).at(0).median_s, 2e-5);
  const auto only = open_sample_source(all, [](const std::string&, const oracle::Environment& environment) {
    return environment.gpu == "A" ? std::optional(0) : std::nullopt;
  });
  EXPECT_EQ(only->samples(one_).at(0).median_s, 1e-5);
  EXPECT_TRUE(only->samples(two_).empty());
}

TEST_F(Sources, SourcesThatContradictEachOtherAreRefused) {
  write_portable(scratch_ / "a", measured("A", test_key(1), {test_sample(8, 1e-5)}));
  write_portable(scratch_ / "b", measured("A", test_key(1), {test_sample(8, 2e-5)}));
  const std::string refusal = message_of<StoreError>([&] {
    open_sample_source({scratch_ / "a", scratch_ / "b"})->samples(one_);
  });
  EXPECT_NE(refusal.find("point 8: another source holds other figures"), std::string::npos) << refusal;
}

TEST_F(Sources, ASinkFillsAStore) {
  SignatureStore store = SignatureStore::open(scratch_ / "store", SignatureStore::Mode::kCreate);
  StoreSink sink(store);
  sink.environment(test_environment("A"));
  sink.sample(test_key(1), test_sample(8));
  EXPECT_EQ(store.samples(oracle::environment_id(test_environment("A")), one_), std::vector{test_sample(8)});
}

}  // namespace
}  // namespace dooly::store
