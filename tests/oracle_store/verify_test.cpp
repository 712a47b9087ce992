#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_store/kernel_remarks.hpp"
#include "oracle_store/signature_store.hpp"

#include "random_store.hpp"
#include "raw_database.hpp"
#include "record_codec.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dooly::store {
namespace {

using test::Scratch;

bool mentions(const std::vector<Damage>& damages, const std::string& family, const std::string& record,
              const std::string& what) {
  return std::any_of(damages.begin(), damages.end(), [&](const Damage& damage) {
    return damage.family == family && damage.record.find(record) != std::string::npos &&
           damage.what.find(what) != std::string::npos;
  });
}

std::string listed(const std::vector<Damage>& damages) {
  std::string text;
  for (const Damage& damage : damages) text += damage.family + ": " + damage.record + ": " + damage.what + "\n";
  return text;
}

class Verify : public testing::Test {
 protected:
  Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "store";
  std::string environment_ = oracle::environment_id(test_environment());
  oracle::Signature signature_ = oracle::signature_of(test_key());

  void fill_store(std::uint64_t samples) {
    std::vector<Record> records = {EnvironmentRecord{environment_, test_environment()},
                                   KeyRecord{signature_, test_key()}};
    for (std::uint64_t i = 1; i <= samples; ++i) {
      SampleRecord record{environment_, signature_, test_sample(i, 1e-6 * static_cast<double>(i))};
      record.sample.std_s = 1e-9 * static_cast<double>(i * 7919 % 1000003);  // does not compress to nothing
      records.push_back(record);
    }
    records.push_back(PlanRecord{{"llama", "{}"}});
    fill(path_, records);
  }
  void flip(const std::filesystem::path& file, std::uint64_t offset, char bits = 0x10) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(static_cast<char>(byte ^ bits));
  }
};

TEST_F(Verify, ASoundStoreIsClean) {
  fill_store(100);
  EXPECT_EQ(listed(SignatureStore::verify(path_)), "");
  std::mt19937_64 random(7);
  fill(scratch_ / "random", random_records(random, 300));
  EXPECT_EQ(listed(SignatureStore::verify(scratch_ / "random")), "");
}

TEST_F(Verify, NamesAPlanWhoseSignatureIsNotThatOfItsKey) {
  std::string plan = oracle::plan_json(oracle::make_plan(oracle::find_model("meta-llama/Llama-3.1-8B"), {}));
  fill_store(1);
  {
    SignatureStore store = SignatureStore::open(path_, SignatureStore::Mode::kWrite);
    store.put_plan("sound", plan);
    const std::size_t at = plan.find("\"signature\": \"") + 14;
    plan[at] = plan[at] == '0' ? '1' : '0';
    store.put_plan("wrong", plan);
  }
  const std::string found = listed(SignatureStore::verify(path_));
  EXPECT_NE(found.find("plan wrong"), std::string::npos) << found;
  EXPECT_NE(found.find("entries[0]"), std::string::npos) << found;
  EXPECT_EQ(found.find("plan sound"), std::string::npos) << found;
}

TEST_F(Verify, NamesARecordWhoseBytesChanged) {
  fill_store(3);
  {
    RawDatabase raw(path_);
    const std::string key = raw.key_at("sample", 1);
    std::string value = raw.get("sample", key);
    value[12] = static_cast<char>(value[12] ^ 1);
    raw.put("sample", key, value);
    raw.put("plan", "llama", "12345678{}");
  }
  const std::vector<Damage> damages = SignatureStore::verify(path_);
  EXPECT_EQ(damages.size(), 2u) << listed(damages);
  EXPECT_TRUE(mentions(damages, "sample", "linear 4096x6144", "checksum")) << listed(damages);
  EXPECT_TRUE(mentions(damages, "sample", "point 2", "checksum")) << listed(damages);
  EXPECT_TRUE(mentions(damages, "plan", "llama", "checksum")) << listed(damages);
  const SignatureStore store = SignatureStore::open(path_, SignatureStore::Mode::kRead);
  EXPECT_THROW(store.samples(environment_, signature_), StoreDamaged);
  EXPECT_EQ(store.sample(environment_, signature_, oracle::ClockRegime::kCool, {1})->median_s, 1e-6);
}

TEST_F(Verify, NamesSamplesWhoseMedianIsNoTime) {
  const double absurd[] = {
      0, -1e-6, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300, 86401};
  fill_store(std::size(absurd) + 1);
  {
    RawDatabase raw(path_);
    for (std::size_t i = 0; i < std::size(absurd); ++i) {
      std::string payload;
      encode_sample(payload, test_sample(i + 1, absurd[i]));
      raw.put_sealed("sample", raw.key_at("sample", i), payload);
    }
  }
  const std::vector<Damage> damages = SignatureStore::verify(path_);
  ASSERT_EQ(damages.size(), std::size(absurd)) << listed(damages);
  EXPECT_TRUE(mentions(damages, "sample", "point 1", "median_s must be more than 0")) << listed(damages);
  for (std::size_t i = 1; i < std::size(absurd); ++i)
    EXPECT_TRUE(mentions(damages, "sample", "point " + std::to_string(i + 1), "median_s must be a time from 0"))
        << listed(damages);
}

TEST_F(Verify, AFitIsKeptIsNotExportedAndIsChecked) {
  fill_store(5);
  const StoredFit fit{5, 0.034, 2, series_digest({test_sample(1)})};
  {
    SignatureStore store = SignatureStore::open(path_, SignatureStore::Mode::kWrite);
    EXPECT_EQ(store.fit(environment_, signature_), std::nullopt);
    store.put_fit(environment_, signature_, fit);
    EXPECT_EQ(store.fit(environment_, signature_), fit);
    EXPECT_THROW(store.put_fit(environment_, oracle::signature_of(test_key(1, 2)), fit), StoreError);
    EXPECT_THROW(store.put_fit(environment_, signature_, {5, -1, 2, fit.samples}), StoreError);
    std::size_t records = 0;
    const auto all = store.records();
    for (Record record; all->next(record);) ++records;
    EXPECT_EQ(records, 1u + 1 + 5 + 1) << "no record of it";
  }
  EXPECT_EQ(listed(SignatureStore::verify(path_)), "");
  {
    RawDatabase raw(path_);
    const std::string key = raw.key_at("meta", 0);
    ASSERT_TRUE(key.starts_with("fit/")) << key;
    raw.put_sealed("meta", key, R"({"fold_error":"small","points":5,"samples":"","version":2})");
    raw.put_sealed("meta", "fit/" + std::string(64, '0') + "/" + signature_.hex(),
                   R"({"fold_error":0,"points":1,"samples":")" + fit.samples + R"(","version":2})");
  }
  const std::vector<Damage> damages = SignatureStore::verify(path_);
  EXPECT_EQ(damages.size(), 2u) << listed(damages);
  EXPECT_TRUE(mentions(damages, "meta", environment_, "is no fit")) << listed(damages);
  EXPECT_TRUE(mentions(damages, "meta", "fit/0000", "its environment is not in the store")) << listed(damages);
}

TEST(SeriesDigest, FollowsEveryFigureAndTheOrder) {
  const std::vector<oracle::Sample> samples = {test_sample(1), test_sample(2)};
  std::vector<oracle::Sample> other = samples;
  EXPECT_EQ(series_digest(samples), series_digest(other));
  other[1].median_s *= 1.0000001;
  EXPECT_NE(series_digest(samples), series_digest(other));
  EXPECT_NE(series_digest(samples), series_digest({samples[1], samples[0]}));
}

TEST_F(Verify, NamesARecordThatStandsInAnothersPlace) {
  fill_store(3);
  {
    RawDatabase raw(path_);
    raw.put("sample", raw.key_at("sample", 0), raw.get("sample", raw.key_at("sample", 2)));
  }
  EXPECT_TRUE(mentions(SignatureStore::verify(path_), "sample", "point 1", "checksum"));
}

TEST_F(Verify, NamesBrokenLinks) {
  fill_store(2);
  RawDatabase(path_).remove("signature", std::string(signature_.bytes.begin(), signature_.bytes.end()));
  EXPECT_TRUE(mentions(SignatureStore::verify(path_), "sample", signature_.hex().substr(0, 12), "its operator is not"));
  {
    RawDatabase raw(path_);
    raw.remove("env", raw.key_at("env", 0));
  }
  EXPECT_TRUE(mentions(SignatureStore::verify(path_), "sample", "point 1", "its environment is not"));
}

TEST_F(Verify, NamesAKeyThatIsNotOfItsSignature) {
  fill_store(1);
  RawDatabase(path_).put_sealed("signature", std::string(32, 'x'), oracle::canonical_json(test_key()));
  EXPECT_TRUE(mentions(SignatureStore::verify(path_), "signature", "operator 7878", "has another signature"));
}

TEST_F(Verify, RemarksOnASeriesOfTwoKernelFamilies) {
  fill_store(1);
  SignatureStore store = SignatureStore::open(path_, SignatureStore::Mode::kWrite);
  for (const char* family : {"cublas", "cutlass"}) {
    oracle::Sample sample = test_sample(family[2] == 'b' ? 64 : 65);
    sample.kernel_family = family;
    store.put(environment_, signature_, sample);
  }
  std::vector<Damage> remarks;
  EXPECT_TRUE(store.verify(&remarks).empty());
  EXPECT_TRUE(mentions(remarks, "sample", "linear 4096x6144", "cublas, cutlass"));
}

TEST_F(Verify, RemarksOnKernelsThatAreNotOfTheFamilyOfTheirKey) {
  fill_store(1);
  SignatureStore store = SignatureStore::open(path_, SignatureStore::Mode::kWrite);
  oracle::Sample sample = test_sample(64);
  sample.kernel_family = "torch";
  store.put(environment_, signature_, sample);
  std::vector<Damage> remarks;
  EXPECT_TRUE(store.verify(&remarks).empty());
  EXPECT_TRUE(mentions(remarks, "sample", "linear 4096x6144", "ran kernels of torch, the key names cublas"));

  KernelRemarks same;  // of its records in a file
  const auto records = store.records();
  for (Record record; records->next(record);) same.take(record);
  ASSERT_EQ(same.all().size(), 1U);
  EXPECT_EQ(same.all().front(), std::pair(remarks.front().record, remarks.front().what));
}

TEST_F(Verify, StepsOverDamagedBlocksAndNamesTheRecordsAroundThem) {
  fill_store(20000);
  std::filesystem::path tables;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.path().extension() == ".sst" &&
        (tables.empty() || entry.file_size() > std::filesystem::file_size(tables)))
      tables = entry.path();
  const std::uintmax_t size = std::filesystem::file_size(tables);
  for (const std::uintmax_t at : {size / 4, size / 2}) flip(tables, at);
  std::filesystem::remove(path_ / "SEAL");  // as after a crash
  const std::vector<Damage> damages = SignatureStore::verify(path_);
  ASSERT_EQ(damages.size(), 2u) << listed(damages);
  for (const Damage& damage : damages) {
    EXPECT_EQ(damage.family, "sample");
    EXPECT_NE(damage.what.find("checksum mismatch"), std::string::npos) << damage.what;
    std::uint64_t after = 0, before = 0;
    const std::size_t first = damage.record.find("point "), second = damage.record.rfind("point ");
    after = std::stoull(damage.record.substr(first + 6));
    before = std::stoull(damage.record.substr(second + 6));
    EXPECT_LT(after, before);
    EXPECT_LT(before - after, 400u) << "one block, not a file: " << damage.record;
  }
}

TEST_F(Verify, FindsEveryFlippedByte) {
  fill_store(300);
  std::vector<std::pair<std::filesystem::path, std::uintmax_t>> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.file_size() > 0) files.emplace_back(entry.path(), entry.file_size());
  std::mt19937_64 random(3);
  for (const auto& [file, size] : files) {
    for (int i = 0; i < 12; ++i) {
      const std::uintmax_t at = random() % size;
      const char bits = static_cast<char>(1 << random() % 8);
      flip(file, at, bits);
      const std::vector<Damage> damages = SignatureStore::verify(path_);
      EXPECT_FALSE(damages.empty()) << file << " byte " << at;
      EXPECT_TRUE(mentions(damages, "file", file.filename().string(), "")) << file << listed(damages);
      flip(file, at, bits);
    }
  }
  EXPECT_EQ(listed(SignatureStore::verify(path_)), "");
}

TEST_F(Verify, FindsAMissingFile) {
  fill_store(300);
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.path().extension() == ".sst") {
      std::filesystem::remove(entry.path());
      break;
    }
  EXPECT_TRUE(mentions(SignatureStore::verify(path_), "file", ".sst", "is missing"));
}

TEST_F(Verify, WhatIsNoStoreIsAnotherMatter) { EXPECT_THROW(SignatureStore::verify(scratch_ / "absent"), StoreError); }

}  // namespace
}  // namespace dooly::store
