// The signature store with a million samples: import, point lookups, scans, opening, and the portable form.
#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"
#include "oracle_store/sources.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace dooly;
using store::SignatureStore;

constexpr std::size_t kSeries = 1000, kPoints = 1000, kSamples = kSeries * kPoints;

oracle::OperatorKey key(std::size_t series) {
  oracle::OperatorKey made;
  made.kind = "linear";
  made.dtypes = {"bfloat16", "bfloat16", "bfloat16"};
  made.dims = {4096, 128 + series};
  made.request_dims = {"m"};
  made.family = "cublas";
  return made;
}

/// As measured ones are: all figures, full digits.
std::vector<oracle::Sample> samples(std::size_t series) {
  std::mt19937_64 random(series);
  std::uniform_real_distribution<double> time(1e-5, 1e-3);
  std::vector<oracle::Sample> made(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    oracle::Sample& sample = made[i];
    sample.point = {8 * i + 8};
    sample.regime = oracle::ClockRegime::kCool;
    sample.count = 30;
    sample.median_s = time(random);
    sample.mean_s = sample.median_s * 1.01;
    sample.std_s = sample.median_s * 0.02;
    sample.min_s = sample.median_s * 0.97;
    sample.p10_s = sample.median_s * 0.98;
    sample.p90_s = sample.median_s * 1.03;
  }
  return made;
}

/// Directory of this process, removed at its end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "dooly-store-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

const Scratch& scratch() {
  static const Scratch directory;
  return directory;
}

/// Everything that the samples need, and their figures, ready before the clock starts.
struct Content {
  oracle::Environment environment;
  std::vector<oracle::OperatorKey> keys;
  std::vector<std::vector<oracle::Sample>> samples;
};

const Content& content() {
  static const Content made = [] {
    Content all;
    all.environment.gpu = "H200-SXM";
    for (std::size_t i = 0; i < kSeries; ++i) {
      all.keys.push_back(key(i));
      all.samples.push_back(::samples(i));
    }
    return all;
  }();
  return made;
}

void fill(const std::filesystem::path& path) {
  SignatureStore made = SignatureStore::open(path, SignatureStore::Mode::kCreate);
  const std::string environment = made.put_environment(content().environment);
  for (std::size_t i = 0; i < kSeries; ++i)
    made.put_all(environment, made.put_key(content().keys[i]), content().samples[i]);
  made.close();
}

const std::filesystem::path& filled() {
  static const std::filesystem::path path = [] {
    fill(scratch() / "filled");
    return scratch() / "filled";
  }();
  return path;
}

const std::filesystem::path& portable() {
  static const std::filesystem::path path = [] {
    store::PortableWriter writer(scratch() / "portable.jsonl.zst");
    const auto records = store::open_records(filled());
    for (store::Record record; records->next(record);) writer.write(record);
    writer.finish();
    return scratch() / "portable.jsonl.zst";
  }();
  return path;
}

void count_samples(benchmark::State& state, std::size_t per_iteration) {
  state.counters["samples/s"] =
      benchmark::Counter(double(state.iterations()) * double(per_iteration), benchmark::Counter::kIsRate);
}

/// put_all of a thousand samples at a time until everything is on disk and sealed.
void BM_Import(benchmark::State& state) {
  content();
  for (auto _ : state) {
    fill(scratch() / "import");
    state.PauseTiming();
    std::filesystem::remove_all(scratch() / "import");
    state.ResumeTiming();
  }
  count_samples(state, kSamples);
}
BENCHMARK(BM_Import)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_ImportPortable(benchmark::State& state) {
  portable();
  for (auto _ : state) {
    SignatureStore made = SignatureStore::open(scratch() / "import", SignatureStore::Mode::kCreate);
    store::PortableReader reader(portable());
    store::import_records(reader, made);
    made.close();
    state.PauseTiming();
    std::filesystem::remove_all(scratch() / "import");
    state.ResumeTiming();
  }
  count_samples(state, kSamples);
}
BENCHMARK(BM_ImportPortable)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_ReadPortable(benchmark::State& state) {
  portable();
  for (auto _ : state) {
    store::PortableReader reader(portable());
    for (store::Record record; reader.next(record);) benchmark::DoNotOptimize(record);
  }
  count_samples(state, kSamples);
}
BENCHMARK(BM_ReadPortable)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_Export(benchmark::State& state) {
  filled();
  for (auto _ : state) {
    store::PortableWriter writer(scratch() / "export.jsonl.zst");
    const auto records = store::open_records(filled());
    for (store::Record record; records->next(record);) writer.write(record);
    writer.finish();
  }
  count_samples(state, kSamples);
}
BENCHMARK(BM_Export)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_Open(benchmark::State& state) {
  filled();
  for (auto _ : state) benchmark::DoNotOptimize(SignatureStore::open(filled(), SignatureStore::Mode::kRead));
}
BENCHMARK(BM_Open)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Random points of the whole store, warm: everything was read once.
void BM_Lookup(benchmark::State& state) {
  const SignatureStore store = SignatureStore::open(filled(), SignatureStore::Mode::kRead);
  const std::string environment = store.environments().front().first;
  std::vector<oracle::Signature> signatures;
  for (const oracle::OperatorKey& made : content().keys) signatures.push_back(oracle::signature_of(made));
  for (const oracle::Signature& signature : signatures) benchmark::DoNotOptimize(store.samples(environment, signature));
  std::mt19937_64 random(1);
  std::uint64_t found = 0;
  for (auto _ : state) {
    const std::uint64_t draw = random();
    const auto sample = store.sample(environment, signatures[draw % kSeries], oracle::ClockRegime::kCool,
                                     {8 * (draw / kSeries % kPoints) + 8});
    found += sample.has_value();
  }
  if (found != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("a sample is missing");
  state.counters["lookups/s"] = benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Lookup);

void BM_Scan(benchmark::State& state) {
  const SignatureStore store = SignatureStore::open(filled(), SignatureStore::Mode::kRead);
  const std::string environment = store.environments().front().first;
  std::size_t next = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(store.samples(environment, oracle::signature_of(content().keys[next++ % kSeries])));
  count_samples(state, kPoints);
}
BENCHMARK(BM_Scan);

void BM_Verify(benchmark::State& state) {
  filled();
  for (auto _ : state)
    if (!SignatureStore::verify(filled()).empty()) state.SkipWithError("damaged");
  count_samples(state, kSamples);
}
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond)->UseRealTime();

/// One synced point, as a sweep writes it.
void BM_Put(benchmark::State& state) {
  SignatureStore made = SignatureStore::open(scratch() / "put", SignatureStore::Mode::kCreate);
  const std::string environment = made.put_environment(content().environment);
  const oracle::Signature signature = made.put_key(content().keys[0]);
  oracle::Sample sample = content().samples[0][0];
  for (auto _ : state) {
    ++sample.point[0];
    made.put(environment, signature, sample);
  }
  state.counters["puts/s"] = benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Put)->UseRealTime();

}  // namespace
