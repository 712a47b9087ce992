#include "random_store.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::store {

using Random = std::mt19937_64;

oracle::Environment test_environment(const std::string& gpu) {
  oracle::Environment environment;
  environment.gpu = gpu;
  environment.multiprocessors = 132;
  environment.libraries = {{"vllm", "0.26.0"}};
  environment.source = "measured";
  return environment;
}

oracle::OperatorKey test_key(std::uint64_t k, std::uint64_t n) {
  oracle::OperatorKey key;
  key.kind = "linear";
  key.dtypes = {"bfloat16", "bfloat16", "bfloat16"};
  key.dims = {k, n};
  key.request_dims = {"m"};
  key.family = "cublas";
  return key;
}

oracle::Sample test_sample(std::uint64_t tokens, double median_s) {
  oracle::Sample sample;
  sample.point = {tokens};
  sample.regime = oracle::ClockRegime::kCool;
  sample.count = 30;
  sample.median_s = sample.mean_s = sample.min_s = sample.p10_s = sample.p90_s = median_s;
  return sample;
}

oracle::Sample random_sample(Random& random) {
  const auto word = [&] {
    const char* const letters[] = {"a", "Z", "_", "<", "\"", "\\", "\n", "\u00e9", "\U0001f600", "::", " "};
    std::string text;
    for (std::uint64_t i = random() % 8; i-- > 0;) text += letters[random() % std::size(letters)];
    return text;
  };
  const auto figure = [&] {
    return random() % 4 == 0 ? 0.0
                             : std::ldexp(static_cast<double>(random() >> 11), -80 + static_cast<int>(random() % 40));
  };
  oracle::Sample sample;
  for (std::uint64_t& at : sample.point)
    if (random() % 2 == 0) at = random() >> (11 + random() % 53);
  sample.regime = static_cast<oracle::ClockRegime>(random() % 3);
  sample.status = random() % 4 == 0 ? static_cast<oracle::SampleStatus>(random() % 5) : oracle::SampleStatus::kOk;
  sample.count = random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(random());
  if (random() % 3 == 0) sample.processes = static_cast<double>(sample.count / 2);
  for (double* at : {&sample.median_s, &sample.mean_s, &sample.std_s, &sample.min_s, &sample.p10_s, &sample.p90_s,
                     &sample.sm_clock_mhz, &sample.power_w})
    *at = figure();
  if (sample.status == oracle::SampleStatus::kOk) sample.median_s += 0x1p-40;
  sample.temperature_c = figure() * (random() % 2 == 0 ? 1 : -1);
  if (random() % 3 == 0) sample.note = word();
  if (random() % 2 == 0)
    for (std::uint64_t i = random() % 3; i-- > 0;) sample.kernels.push_back(word());
  return sample;
}

std::vector<Record> random_records(Random& random, std::size_t samples) {
  std::vector<Record> records;
  std::vector<std::string> environments;
  std::vector<oracle::Signature> signatures;
  for (std::uint64_t i = 0; i < 1 + random() % 3; ++i) {
    const oracle::Environment environment = test_environment("GPU-" + std::to_string(i));
    environments.push_back(oracle::environment_id(environment));
    records.push_back(EnvironmentRecord{environments.back(), environment});
  }
  for (std::uint64_t i = 0; i < 1 + random() % 8; ++i) {
    oracle::OperatorKey key = test_key(random() % 10000, i);
    if (random() % 2 == 0) key.attributes["scale"] = std::ldexp(static_cast<double>(random() >> 11), -60);
    signatures.push_back(oracle::signature_of(key));
    records.push_back(KeyRecord{signatures.back(), key});
  }
  for (std::size_t i = 0; i < samples; ++i)
    records.push_back(SampleRecord{environments[random() % environments.size()],
                                   signatures[random() % signatures.size()], random_sample(random)});
  for (std::uint64_t i = 0; i < random() % 3; ++i)
    records.push_back(
        PlanRecord{{"plan " + std::to_string(i), R"({"layers":)" + std::to_string(random() % 100) + "}"}});
  if (random() % 2 == 0) records.push_back(CommRecord{{"nvlink", R"([{"bytes":8},"\u0000"])"}});
  std::sort(records.begin(), records.end(),
            [](const Record& left, const Record& right) { return compare_identity(left, right) < 0; });
  const auto same = [](const Record& left, const Record& right) { return compare_identity(left, right) == 0; };
  records.erase(std::unique(records.begin(), records.end(), same), records.end());
  return records;
}

void fill(const std::filesystem::path& store, const std::vector<Record>& records) {
  SignatureStore made = SignatureStore::open(store, SignatureStore::Mode::kCreate);
  for (const Record& record : records) made.put_record(record);
  made.close();
}

void write_portable(const std::filesystem::path& file, const std::vector<Record>& records) {
  PortableWriter writer(file);
  for (const Record& record : records) writer.write(record);
  writer.finish();
}

std::vector<Record> all_records(RecordStream& stream) {
  std::vector<Record> records;
  for (Record record; stream.next(record);) records.push_back(record);
  return records;
}

}  // namespace dooly::store
