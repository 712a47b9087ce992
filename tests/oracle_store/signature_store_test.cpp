#include "oracle_store/signature_store.hpp"

#include "random_store.hpp"
#include "raw_database.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dooly::store {
namespace {

using Mode = SignatureStore::Mode;
using test::message_of;
using test::Scratch;

class Store : public testing::Test {
 protected:
  Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "store";
  SignatureStore open(Mode mode = Mode::kCreate) { return SignatureStore::open(path_, mode); }
  std::string refusal(Mode mode) {
    return message_of<StoreError>([&] { open(mode); });
  }
};

TEST_F(Store, KeepsWhatWasPut) {
  oracle::Sample full = test_sample(128);
  full.status = oracle::SampleStatus::kSuspect;
  full.kernel_family = "cublas";
  full.kernels = {"sm90_xmma_gemm", "splitk"};
  full.std_s = 1e-7, full.power_w = 651.5, full.sm_clock_mhz = 1980, full.temperature_c = -3;
  full.note = "clock moved";
  std::string environment;
  oracle::Signature signature;
  {
    SignatureStore store = open();
    environment = store.put_environment(test_environment());
    signature = store.put_key(test_key());
    store.put(environment, signature, full);
    store.put_all(environment, signature, {test_sample(64), test_sample(256)});
    EXPECT_EQ(store.sample(environment, signature, full.regime, full.point), full);
  }
  const SignatureStore store = open(Mode::kRead);
  EXPECT_EQ(environment, oracle::environment_id(test_environment()));
  EXPECT_EQ(signature, oracle::signature_of(test_key()));
  EXPECT_EQ(store.samples(environment, signature), (std::vector{test_sample(64), full, test_sample(256)}));
  EXPECT_EQ(store.key(signature), test_key());
  EXPECT_EQ(store.environments(), (std::vector{std::pair(environment, test_environment())}));
  EXPECT_EQ(store.signatures(environment), std::vector{signature});
  EXPECT_TRUE(store.verify().empty());
}

TEST_F(Store, NeverMeasuredIsAnOrdinaryAnswer) {
  SignatureStore store = open();
  const std::string unknown = oracle::environment_id(test_environment("other"));
  EXPECT_TRUE(store.samples(unknown, {}).empty());
  EXPECT_EQ(store.sample(unknown, {}, oracle::ClockRegime::kCool, {}), std::nullopt);
  EXPECT_EQ(store.key({}), std::nullopt);
  EXPECT_TRUE(store.signatures(unknown).empty());
  EXPECT_EQ(store.plan("none"), std::nullopt);
  EXPECT_TRUE(store.environments().empty() && store.keys().empty() && store.plans().empty() && store.journal().empty());
  EXPECT_THROW(store.samples("12", {}), StoreError);
}

TEST_F(Store, OneSeriesIsOneOrderedScan) {
  SignatureStore store = open();
  const std::string here = store.put_environment(test_environment("A")),
                    there = store.put_environment(test_environment("B"));
  const oracle::Signature one = store.put_key(test_key(1)), two = store.put_key(test_key(2));
  for (const std::uint64_t tokens : {300u, 1u, 256u, 255u, 65536u}) {
    store.put(here, one, test_sample(tokens));
    store.put(here, two, test_sample(tokens, 1));
    store.put(there, one, test_sample(tokens, 2));
  }
  oracle::Sample warm = test_sample(2);
  warm.regime = oracle::ClockRegime::kSustained;
  store.put(here, one, warm);
  EXPECT_EQ(store.samples(here, one), (std::vector{test_sample(1), test_sample(255), test_sample(256), test_sample(300),
                                                   test_sample(65536), warm}));
  EXPECT_EQ(store.signatures(here).size(), 2u);
  EXPECT_EQ(store.signatures(there), std::vector{one});
}

TEST_F(Store, APutReplacesThePoint) {
  SignatureStore store = open();
  const std::string environment = store.put_environment(test_environment());
  const oracle::Signature signature = store.put_key(test_key());
  EXPECT_EQ(store.put_environment(test_environment()), environment);
  EXPECT_EQ(store.put_key(test_key()), signature);
  store.put(environment, signature, test_sample(8, 1e-5));
  store.put(environment, signature, test_sample(8, 2e-5));
  EXPECT_EQ(store.samples(environment, signature), std::vector{test_sample(8, 2e-5)});
}

TEST_F(Store, TakesOnlySoundSamplesOfKnownThings) {
  SignatureStore store = open();
  const std::string environment = store.put_environment(test_environment());
  const oracle::Signature signature = store.put_key(test_key());
  const auto refused = [&](const oracle::Sample& sample) {
    return message_of<StoreError>([&] { store.put_all(environment, signature, {test_sample(1), sample}); });
  };
  EXPECT_NE(refused(test_sample(8, -1e-9)).find("point 8: median_s must be a time from 0 to 86400 s, got -1e-09"),
            std::string::npos);
  for (const double absurd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300})
    EXPECT_NE(refused(test_sample(8, absurd)).find("median_s must be a time from 0 to 86400 s"), std::string::npos);
  EXPECT_NE(refused(test_sample(8, 0)).find("point 8: median_s must be more than 0 where the status is ok, got 0"),
            std::string::npos);
  oracle::Sample failed = test_sample(8, 0);
  failed.status = oracle::SampleStatus::kOutOfMemory;
  EXPECT_EQ(fault_of(failed), "");
  oracle::Sample garbled = test_sample(8);
  garbled.kernels = {"\xff"};
  EXPECT_NE(refused(garbled).find("UTF-8"), std::string::npos);
  EXPECT_TRUE(store.samples(environment, signature).empty()) << "atomic as a whole";
  EXPECT_THROW(store.put(environment, oracle::Signature{}, test_sample(1)), StoreError);
  EXPECT_THROW(store.put(oracle::environment_id(test_environment("x")), signature, test_sample(1)), StoreError);
  EXPECT_THROW(store.put("", signature, test_sample(1)), StoreError);
  EXPECT_THROW(store.put_plan("p", "{"), StoreError);
  EXPECT_THROW(store.put_plan("", "{}"), StoreError);
}

TEST_F(Store, KeepsDocumentsInCanonicalForm) {
  SignatureStore store = open();
  store.put_plan("llama", "{ \"b\": 1.0, \"a\": [] }");
  store.put_comm("nvlink", "[1e0]");
  store.add_to_journal("{\"began\":1}");
  store.add_to_journal("{\"ended\":2}");
  EXPECT_EQ(store.plans(), std::vector<std::string>{"llama"});
  EXPECT_EQ(store.plan("llama"), R"({"a":[],"b":1})");
  EXPECT_EQ(store.comm("nvlink"), "[1]");
  EXPECT_EQ(store.journal(), (std::vector<std::string>{"{\"began\":1}", "{\"ended\":2}"}));
  EXPECT_TRUE(store.verify().empty());
}

TEST_F(Store, WhatIsNoStoreIsRefusedByPath) {
  EXPECT_EQ(refusal(Mode::kRead), path_.string() + ": holds no store");
  EXPECT_EQ(refusal(Mode::kWrite), path_.string() + ": holds no store");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(refusal(Mode::kRead), path_.string() + ": holds no store");
  std::ofstream(path_ / "thesis.tex") << "x";
  EXPECT_EQ(refusal(Mode::kCreate), path_.string() + ": is no store, and holds other files (thesis.tex)");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_), {}), 1) << "untouched";
}

TEST_F(Store, AForeignSchemaVersionIsRefused) {
  open().close();
  RawDatabase(path_).put_sealed("meta", "schema", "2");
  for (const Mode mode : {Mode::kRead, Mode::kWrite, Mode::kCreate})
    EXPECT_EQ(refusal(mode), path_.string() + ": holds schema version 2, this program reads and writes version 1");
  RawDatabase(path_).remove("meta", "schema");
  EXPECT_NE(refusal(Mode::kRead).find("holds no records"), std::string::npos);
  EXPECT_NO_THROW(open(Mode::kWrite)) << "making it was cut short: goes on";
}

TEST_F(Store, ADatabaseOfOthersIsRefused) {
  RawDatabase::make_foreign(path_);
  for (const Mode mode : {Mode::kRead, Mode::kWrite, Mode::kCreate})
    EXPECT_NE(refusal(mode).find("is no store of dooly"), std::string::npos);
}

TEST_F(Store, HasOneWriterAndManyReaders) {
  SignatureStore writer = open();
  EXPECT_EQ(refusal(Mode::kWrite), path_.string() + ": another process is writing to this store");
  const std::string environment = writer.put_environment(test_environment());
  const oracle::Signature signature = writer.put_key(test_key());
  writer.put(environment, signature, test_sample(1));
  const SignatureStore before = open(Mode::kRead);
  writer.put(environment, signature, test_sample(2));
  const SignatureStore after = open(Mode::kRead);
  EXPECT_EQ(before.samples(environment, signature).size(), 1u);
  EXPECT_EQ(after.samples(environment, signature).size(), 2u);
  writer.close();
  EXPECT_EQ(before.samples(environment, signature).size(), 1u) << "files that the writer replaced stay readable";
  SignatureStore reader = open(Mode::kRead);
  EXPECT_THROW(reader.put(environment, signature, test_sample(3)), StoreError);
}

TEST_F(Store, ReadingChangesNoFile) {
  fill(path_, {EnvironmentRecord{oracle::environment_id(test_environment()), test_environment()}});
  const auto listing = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      files[entry.path().filename().string()] = test::text_of(entry.path());
    return files;
  };
  const auto before = listing();
  EXPECT_EQ(open(Mode::kRead).environments().size(), 1u);
  EXPECT_EQ(listing(), before);
}

}  // namespace
}  // namespace dooly::store
