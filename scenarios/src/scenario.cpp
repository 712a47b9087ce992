#include "scenarios/scenario.hpp"

#include <algorithm>

namespace dooly::scenario {
namespace {

bool serves(const Pool& pool, const std::string& class_name) {
  return pool.serves.empty() || std::find(pool.serves.begin(), pool.serves.end(), class_name) != pool.serves.end();
}

std::optional<std::size_t> find_pool(const std::vector<Pool>& pools, const std::string& class_name, bool is_decode) {
  for (std::size_t i = 0; i < pools.size(); ++i)
    if ((pools[i].role == Pool::Role::kDecode) == is_decode && serves(pools[i], class_name)) return i;
  return {};
}

}  // namespace

Slo Scenario::slo_of(const std::string& class_name) const {
  for (const WorkloadSpec& workload : workloads)
    if (const auto found = workload.class_slo.find(class_name); found != workload.class_slo.end()) return found->second;
  for (const WorkloadSpec& workload : workloads)
    if (workload.slo && (workloads.size() == 1 || workload.default_class() == class_name)) return *workload.slo;
  return {};
}

std::optional<std::size_t> Scenario::entry_pool(const std::string& class_name) const {
  return find_pool(pools, class_name, false);
}

std::optional<std::size_t> Scenario::decode_pool(const std::string& class_name) const {
  return find_pool(pools, class_name, true);
}

}  // namespace dooly::scenario
