#include "aiconfigurator_tables.hpp"
#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/linear_surface.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>

namespace dooly::oracle {
namespace {

std::filesystem::path tables() { return dooly::test::data_path("data/profiles/aiconfigurator/h200_sxm"); }

struct Errors {
  double sum = 0, signed_sum = 0, worst = 0;
  int count = 0;
  void add(double predicted, double measured) {
    const double error = predicted / measured - 1;
    sum += std::abs(error);
    signed_sum += error;
    worst = std::max(worst, std::abs(error));
    ++count;
  }
  double mean() const { return sum / count; }
  void print(const char* what) const {
    std::printf("%-48s MAPE %5.2f %%, bias %+5.2f %%, worst %5.1f %%, %d points\n", what, 100 * mean(),
                100 * signed_sum / count, 100 * worst, count);
  }
};

TEST(AccuracyOnAIConfigurator, RowsLeftOutOfMeasuredLinears) {
  const auto path = tables() / "gemm/vllm-0.24.0/gemm_perf.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  Errors errors;
  for (const SampleSet& set : test::read_linears(path)) {
    if (set.key.dims[0] < 1024 || set.key.dims[1] < 1024) continue;
    const RowWork work = linear_work(set.key, double(set.key.dims[0]), double(set.key.dims[1]), find_gpu("H200"), {});
    std::vector<WorkCurve::Point> kept, out;
    for (std::size_t i = 0; i < set.samples.size(); ++i)
      (i % 5 == 2 ? out : kept).push_back({double(set.samples[i].point[0]), set.samples[i].median_s});
    const WorkCurve curve(kept, work);
    for (const WorkCurve::Point& p : out)
      if (curve.at(p.x).origin <= Origin::kInterpolated) errors.add(curve.at(p.x).seconds, p.seconds);
  }
  errors.print("linears, every fifth m left out");
  EXPECT_LT(errors.mean(), 0.05);
}

TEST(AccuracyOnAIConfigurator, LinearsOfSizesNobodyMeasured) {
  const auto path = tables() / "gemm/vllm-0.24.0/gemm_perf.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  const std::vector<SampleSet> sets = test::read_linears(path);
  Errors errors;
  for (std::size_t left = 0; left < sets.size(); ++left) {
    const OperatorKey& key = sets[left].key;
    if (key.dims[0] < 2048 || key.dims[1] < 2048 || key.dims[0] > 12288 || key.dims[1] > 12288 || left % 3 != 0)
      continue;
    std::vector<SampleSet> kept = sets;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(left));
    const LinearSurface surface(kept, key, find_gpu("H200"), {});
    const auto curve = surface.at(key.dims[0], key.dims[1]);
    ASSERT_TRUE(curve);
    for (const Sample& s : sets[left].samples) errors.add(curve->at(double(s.point[0])).seconds, s.median_s);
  }
  errors.print("linears, (k, n) left out");
  EXPECT_LT(errors.mean(), 0.08);
}

TEST(AccuracyOnAIConfigurator, AttentionOfLlama8B) {
  const auto folder = tables() / "attention/vllm-0.24.0";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "missing " << folder;
  const SampleSet set = test::read_attention(folder, 32, 8, 128);
  ASSERT_GT(set.samples.size(), 200u);
  const AttentionRoofline work = attention_roofline(set.key, find_gpu("H200"), {});
  Errors decode, prefill;
  for (std::size_t fold = 0; fold < 5; ++fold) {
    std::vector<Sample> kept;
    for (std::size_t i = 0; i < set.samples.size(); ++i)
      if (i % 5 != fold) kept.push_back(set.samples[i]);
    const AttentionModel model(kept, work, {});
    for (std::size_t i = fold; i < set.samples.size(); i += 5) {
      const Sample& s = set.samples[i];
      BatchShape shape = test::decodes(static_cast<std::uint32_t>(s.point[3]), s.point[4]);
      const std::vector<PrefillChunk> chunks(s.point[0], {static_cast<std::uint32_t>(s.point[1]), 0});
      shape.prefills = chunks;
      const AttentionModel::Result result = model.at(shape, ChunkSums::of(shape));
      if (result.origin > Origin::kInterpolated) continue;
      (chunks.empty() ? decode : prefill).add(result.seconds, s.median_s);
    }
  }
  decode.print("decode attention, fifths left out");
  prefill.print("prefill attention, fifths left out");
  EXPECT_LT(decode.mean(), 0.08);
  EXPECT_LT(prefill.mean(), 0.10);
}

}  // namespace
}  // namespace dooly::oracle
