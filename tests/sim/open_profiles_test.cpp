// Which environments of a store answer a deployment.
#include "oracle/operator_keys.hpp"
#include "oracle_store/sources.hpp"
#include "sim/profile_store.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

using test::message_of;
using test::Scratch;

class OpenProfiles : public testing::Test {
 protected:
  OpenProfiles() {
    store::SignatureStore filled =
        store::SignatureStore::open(scratch_ / "store", store::SignatureStore::Mode::kCreate);
    store::StoreSink sink(filled);
    double median_s = 1;
    for (const char* topology : {"nvlink", "pairwise-nvlink", "2x4 nvlink + network", "4x2 nvlink + network"}) {
      put_environment(sink, "", topology);
      oracle::Sample sample;
      sample.point = {4096};
      sample.median_s = median_s++ * 1e-6;
      sink.sample(key_, sample);
    }
    put_environment(sink, "570.1", "");
  }
  static void put_environment(store::StoreSink& sink, const char* driver, const char* topology) {
    oracle::Environment environment;
    environment.gpu = "A100-SXM-80GB";
    environment.driver = driver;
    environment.topology = topology;
    environment.source = "vidur";
    sink.environment(environment);
  }
  double median(const RankSpread& spread, std::string_view environment = {}) const {
    return open_profiles({scratch_ / "store"}, "A100-SXM-80GB", environment, spread)
               ->samples(oracle::signature_of(key_))
               .at(0)
               .median_s *
           1e6;
  }

  Scratch scratch_;
  oracle::OperatorKey key_ = oracle::collective_key("all_reduce", "float16", 8, "nccl");
};

TEST_F(OpenProfiles, CollectivesAreThoseOfTheLinksBetweenTheRanks) {
  EXPECT_DOUBLE_EQ(median({}), 1);
  EXPECT_DOUBLE_EQ(median({1, 8}), 1);
  EXPECT_DOUBLE_EQ(median({2, 4}), 3);
  EXPECT_DOUBLE_EQ(median({4, 2}), 4);
  EXPECT_NE(message_of<store::StoreError>([&] {
              median({8, 1});
            }).find("measured in 2 environments"),
            std::string::npos);
  EXPECT_DOUBLE_EQ(median({8, 1}, "4x2 nvlink"), 4);
}

TEST_F(OpenProfiles, EnvironmentsAreNamedByWhatListsPrint) {
  const auto gpus = [&](const char* text) { return profiled_gpus({scratch_ / "store"}, text).size(); };
  EXPECT_EQ(gpus("A100-SXM-80GB, pairwise-nvlink, vidur"), 1u);
  EXPECT_EQ(gpus("A100-SXM-80GB, vidur"), 1u);
  EXPECT_EQ(gpus("570.1"), 0u) << "no list prints it";
}

}  // namespace
}  // namespace dooly::sim
