#include "store_coverage.hpp"

#include "oracle_store/portable_file.hpp"
#include "oracle_store/record.hpp"
#include "oracle_store/signature_store.hpp"

#include <algorithm>
#include <variant>

namespace dooly::cli {
namespace {

template <typename Count>
void count_all(store::RecordStream& stream, Count count) {
  store::Record record;
  while (stream.next(record)) {
    const auto* sample = std::get_if<store::SampleRecord>(&record);
    if (sample != nullptr && sample->sample.status == oracle::SampleStatus::kOk) count(sample->signature);
  }
}

}  // namespace

StoreCoverage::StoreCoverage(const std::filesystem::path& path) {
  const auto count = [&](const oracle::Signature& signature) { samples_[signature] += 1; };
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    store::PortableReader reader(path);
    count_all(reader, count);
    return;
  }
  const auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
  count_all(*opened.records(), count);
}

std::uint64_t StoreCoverage::samples(const oracle::Signature& signature) const {
  const auto found = samples_.find(signature);
  return found == samples_.end() ? 0 : found->second;
}

std::uint64_t StoreCoverage::samples(const oracle::PlanEntry& entry) const {
  std::uint64_t count = samples(entry.signature);
  if (entry.key.family == "vllm-custom") {
    oracle::OperatorKey key = entry.key;
    key.family = "nccl";
    count += samples(oracle::signature_of(key));
  }
  return count;
}

std::string StoreCoverage::module_of(const oracle::StepPlan& plan, const oracle::PlanEntry& entry) const {
  for (const oracle::PlanModule& module : plan.modules) {
    const auto& names = module.replaces;
    if (std::find(names.begin(), names.end(), entry.name) != names.end() && samples(module.signature) > 0)
      return module.name;
  }
  return {};
}

}  // namespace dooly::cli
