#include "oracle_store/portable_file.hpp"
#include "oracle_store/store_error.hpp"

#include "random_store.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

namespace dooly::store {
namespace {

using test::message_of;
using test::Scratch;
using test::text_of;

std::vector<Record> read_all(const std::filesystem::path& path) {
  PortableReader reader(path);
  return all_records(reader);
}

TEST(PortableSink, SortsWhatItGets) {
  const Scratch scratch;
  PortableSink sink(scratch / "f");
  sink.environment(test_environment());
  for (const std::uint64_t tokens : {512u, 8u, 64u}) sink.sample(test_key(), test_sample(tokens));
  sink.sample(test_key(1, 1), test_sample(1));
  sink.sample(test_key(), test_sample(8, 7e-6));  // measured again
  EXPECT_EQ(sink.finish(), 7u);
  const std::vector<Record> records = read_all(scratch / "f");
  ASSERT_EQ(records.size(), 7u);
  EXPECT_EQ(std::get<EnvironmentRecord>(records[0]).environment, test_environment());
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.partial"));
  std::vector<oracle::Sample> samples;
  for (const Record& record : records)
    if (const auto* sample = std::get_if<SampleRecord>(&record);
        sample && sample->signature == oracle::signature_of(test_key()))
      samples.push_back(sample->sample);
  EXPECT_EQ(samples, (std::vector{test_sample(8, 7e-6), test_sample(64), test_sample(512)}));
}

TEST(PortableSink, TwoAtOnceAreRefused) {
  const Scratch scratch;
  std::optional<PortableSink> first(std::in_place, scratch / "f");
  EXPECT_THROW(PortableSink(scratch / "f"), StoreError);
  first->environment(test_environment());
  first->sample(test_key(), test_sample(8));
  EXPECT_EQ(first->finish(), 3u);
  const PortableWriter writer(scratch / "f");
  EXPECT_THROW(PortableWriter(scratch / "f"), StoreError);
  EXPECT_NO_THROW(PortableSink(scratch / "f"));
}

TEST(PortableSink, WhatItWouldReplaceAtItsEndIsRefused) {
  const Scratch scratch;
  const auto path = scratch / "store.jsonl.zst";
  {
    PortableSink sink(path);
    EXPECT_EQ(message_of<StoreError>([&] { PortableWriter writer(path); }),
              path.string() + ": another process is measuring into this file");
    sink.finish();
  }
  EXPECT_NO_THROW(PortableWriter{path});
}

TEST(PortableSink, OverADamagedFileLeavesOnlyWhatWasSaved) {
  const Scratch scratch;
  std::ofstream(scratch / "f") << "no store";
  EXPECT_THROW(PortableSink(scratch / "f"), StoreError);
  EXPECT_FALSE(std::filesystem::exists(scratch / "f.partial"));
  std::filesystem::remove(scratch / "f");
  {
    PortableSink sink(scratch / "f");
    sink.environment(test_environment());
  }
  std::ofstream(scratch / "f") << "no store";
  const std::string saved = text_of(scratch / "f.partial");
  EXPECT_FALSE(saved.empty());
  EXPECT_THROW(PortableSink(scratch / "f"), StoreError);
  EXPECT_EQ(text_of(scratch / "f.partial"), saved);
}

TEST(PortableSink, ShowsWhatIsThereOfItsEnvironment) {
  const Scratch scratch;
  {
    PortableSink sink(scratch / "f", PortableSink::Sync::kAtFinish);
    sink.environment(test_environment());
    for (const std::uint64_t tokens : {512u, 8u}) sink.sample(test_key(), test_sample(tokens));
    sink.sample(test_key(1, 1), test_sample(1));
    sink.finish();
  }
  PortableSink sink(scratch / "f");
  oracle::Environment other = test_environment();
  other.driver += "x";
  sink.environment(other);
  EXPECT_TRUE(sink.sets().empty());
  sink.environment(test_environment());
  sink.sample(test_key(), test_sample(64));
  const std::vector<oracle::SampleSet> sets = sink.sets();
  ASSERT_EQ(sets.size(), 2u);
  const bool is_first = sets[0].key == test_key();
  EXPECT_EQ(sets[is_first ? 0 : 1].samples, (std::vector{test_sample(8), test_sample(64), test_sample(512)}));
  EXPECT_EQ(sets[is_first ? 1 : 0].samples, std::vector{test_sample(1)});
}

TEST(PortableSink, GoesOnAfterItWasCutShort) {
  const Scratch scratch;
  {
    PortableSink sink(scratch / "f");
    sink.environment(test_environment());
    sink.sample(test_key(), test_sample(8));
    sink.sample(test_key(), test_sample(16));
  }  // no finish()
  std::ofstream(scratch / "f.partial", std::ios::app) << "{\"count\":3";  // a torn line
  {
    PortableSink sink(scratch / "f");
    sink.environment(test_environment());
    EXPECT_TRUE(sink.has(test_key(), oracle::ClockRegime::kCool, {16}));
    EXPECT_FALSE(sink.has(test_key(), oracle::ClockRegime::kCool, {32}));
    sink.sample(test_key(), test_sample(32));
  }
  PortableSink sink(scratch / "f");
  EXPECT_EQ(sink.finish(), 5u);
}

TEST(PortableSink, AFileOfAnotherWithThePartialNameStays) {
  const Scratch scratch;
  for (const std::string text : {"half of a download", "two lines\nof a user's"}) {
    std::ofstream(scratch / "f.partial") << text;
    EXPECT_THROW(PortableSink(scratch / "f"), StoreDamaged);
    EXPECT_EQ(text_of(scratch / "f.partial"), text);
  }
}

TEST(PortableSink, AddsToAFinishedFile) {
  const Scratch scratch;
  for (const std::uint64_t tokens : {8u, 16u}) {
    PortableSink sink(scratch / "f");
    sink.environment(test_environment());
    sink.sample(test_key(), test_sample(tokens));
    sink.finish();
  }
  EXPECT_EQ(read_all(scratch / "f").size(), 4u);
}

TEST(PortableSink, RefusesWhatNoStoreTakes) {
  const Scratch scratch;
  PortableSink sink(scratch / "f");
  EXPECT_THROW(sink.sample(test_key(), test_sample(8)), StoreError) << "no environment yet";
  sink.environment(test_environment());
  EXPECT_THROW(sink.sample(test_key(), test_sample(8, -1)), StoreError);
}

}  // namespace
}  // namespace dooly::store
