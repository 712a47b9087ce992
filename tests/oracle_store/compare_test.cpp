#include "oracle_store/compare.hpp"

#include "random_store.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dooly::store {
namespace {

class Listed final : public RecordStream {
 public:
  explicit Listed(std::vector<Record> records) : records_(std::move(records)) {}
  bool next(Record& record) override {
    if (at_ == records_.size()) return false;
    record = records_[at_++];
    return true;
  }
  const std::string& name() const override { return name_; }

 private:
  std::vector<Record> records_;
  std::size_t at_ = 0;
  std::string name_ = "list";
};

const std::string kEnvironment = oracle::environment_id(test_environment());
const oracle::Signature kSignature = oracle::signature_of(test_key());

std::vector<Record> records(const std::vector<oracle::Sample>& samples) {
  std::vector<Record> made = {EnvironmentRecord{kEnvironment, test_environment()}, KeyRecord{kSignature, test_key()}};
  for (const oracle::Sample& sample : samples) made.push_back(SampleRecord{kEnvironment, kSignature, sample});
  return made;
}

TEST(Diff, SaysWhatIsWhere) {
  oracle::Sample other = test_sample(64);
  other.median_s = 1.5e-5;
  other.count = 60;
  Listed left(records({test_sample(8), test_sample(64), test_sample(128)}));
  Listed right(records({test_sample(64), test_sample(128), test_sample(256)}));
  Listed changed(records({test_sample(8), other, test_sample(128)}));
  std::vector<std::string> lines;
  const auto note = [&](const Difference& difference) { lines.push_back(difference_text(difference)); };
  const DiffCounts counts = diff(left, right, note);
  EXPECT_EQ(counts.equal, 4u);
  EXPECT_EQ(counts.only_left, 1u);
  EXPECT_EQ(counts.only_right, 1u);
  EXPECT_EQ(counts.differ, 0u);
  const std::string head = "sample of " + kSignature.hex().substr(0, 12) +
                           " (linear 4096x6144 bfloat16,bfloat16,bfloat16 cublas) in environment " +
                           kEnvironment.substr(0, 12) + ", cool, point ";
  EXPECT_EQ(lines, (std::vector{"- " + head + "8", "+ " + head + "256"}));
  lines.clear();
  Listed again(records({test_sample(8), test_sample(64), test_sample(128)}));
  EXPECT_EQ(diff(again, changed, note).differ, 1u);
  EXPECT_EQ(lines,
            std::vector{"~ " + head + "64: median_s 0.0000125 -> 0.000015 (+20.0 %), count 30 -> 60 (+100.0 %)"});
}

TEST(Diff, AStoreIsItself) {
  std::mt19937_64 random(9);
  const std::vector<Record> all = random_records(random, 200);
  Listed left(all), right(all);
  const DiffCounts counts = diff(left, right, [](const Difference&) { FAIL(); });
  EXPECT_TRUE(counts.same());
  EXPECT_EQ(counts.equal, all.size());
}

TEST(Merge, UnitesAndReportsConflicts) {
  for (const Prefer prefer : {Prefer::kFirst, Prefer::kLast}) {
    Listed one(records({test_sample(8), test_sample(64)}));
    Listed two(records({test_sample(64), test_sample(128)}));
    Listed three(records({test_sample(8, 9e-6), test_sample(256)}));
    std::vector<Record> taken;
    std::vector<std::size_t> from;
    std::vector<std::string> conflicts;
    const MergeCounts counts = merge(
        {&one, &two, &three}, prefer,
        [&](const Record& record, std::size_t input) {
          taken.push_back(record);
          from.push_back(input);
        },
        [&](const Difference& difference) { conflicts.push_back(difference_text(difference)); });
    const double chosen = prefer == Prefer::kFirst ? 1.25e-5 : 9e-6;
    EXPECT_EQ(taken, records({test_sample(8, chosen), test_sample(64), test_sample(128), test_sample(256)}));
    EXPECT_EQ(from, (std::vector<std::size_t>{0, 0, prefer == Prefer::kFirst ? 0u : 2u, 0, 1, 2}));
    EXPECT_EQ(counts.records, 6u);
    EXPECT_EQ(counts.shared, 3u);
    EXPECT_EQ(counts.conflicts, 1u);
    ASSERT_EQ(conflicts.size(), 1u);
    EXPECT_NE(conflicts[0].find("point 8: median_s 0.0000125 -> 0.000009"), std::string::npos) << conflicts[0];
  }
}

}  // namespace
}  // namespace dooly::store
