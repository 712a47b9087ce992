#include "oracle_store/kernel_remarks.hpp"

#include "oracle/kernel_families.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dooly::store {

std::vector<std::string> kernel_remarks(const oracle::Environment& environment, const oracle::OperatorKey& key,
                                        const std::set<std::string>& ran) {
  std::vector<std::string> remarks;
  if (ran.size() > 1) remarks.push_back(fmt::format("ran different kernel families: {}", fmt::join(ran, ", ")));
  if (environment.source != "measured") return remarks;
  for (const std::string& family : ran)
    if (std::string finding = oracle::family_finding(key, family); !finding.empty())
      remarks.push_back(std::move(finding));
  return remarks;
}

void KernelRemarks::take(const Record& record) {
  if (const auto* environment = std::get_if<EnvironmentRecord>(&record))
    environments_.emplace(environment->id, environment->environment);
  if (const auto* key = std::get_if<KeyRecord>(&record)) keys_.emplace(key->signature, key->key);
  if (const auto* sample = std::get_if<SampleRecord>(&record); sample && !sample->sample.kernel_family.empty())
    ran_[{sample->environment_id, sample->signature}].insert(sample->sample.kernel_family);
}

std::vector<std::pair<std::string, std::string>> KernelRemarks::all() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [series, ran] : ran_) {
    const oracle::OperatorKey& key = keys_.at(series.second);
    for (std::string& remark : kernel_remarks(environments_.at(series.first), key, ran))
      found.emplace_back(series_title(series.second, &key, series.first), std::move(remark));
  }
  return found;
}

std::string series_title(const oracle::Signature& signature, const oracle::OperatorKey* key,
                         const std::string& environment_id) {
  return fmt::format("samples of {} ({}) in environment {}", signature.hex().substr(0, 12),
                     key != nullptr ? title(*key) : "operator not known", environment_id.substr(0, 12));
}

}  // namespace dooly::store
