// What scenarios may name.
#include "oracle/gpu.hpp"
#include "oracle/model_table.hpp"
#include "oracle/platform.hpp"
#include "scenarios/find_store.hpp"
#include "schedulers/builtin.hpp"
#include "sim/deployment.hpp"
#include "sim/profile_store.hpp"

#include <filesystem>

namespace dooly::sim {

scenario::Names known_names() {
  scenario::Names names;
  for (const auto& model : oracle::shipped_models()) names.models.emplace_back(model.name);
  for (const auto& gpu : oracle::shipped_gpus()) names.gpus.emplace_back(gpu.name);
  for (const auto& policy : schedulers::builtin_policies()) names.policies.emplace_back(policy.name);
  for (const auto& router : schedulers::builtin_routers()) names.routers.emplace_back(router.name);
  for (const auto& platform : oracle::shipped_platforms()) names.platforms.emplace_back(platform.name);
  for (const auto& term : oracle::platform_terms()) names.platform_terms.emplace_back(term.key);
  if (const std::filesystem::path stores = scenario::shipped_stores(); !stores.empty()) {
    names.store_directories.push_back(stores);
    // As a path: what a user has under the same name, beside the scenario or elsewhere, is not asked for.
    names.shipped_store = [stores](const std::string& gpu) {
      const std::string name = shipped_store(stores, gpu);
      return name.empty() ? name : (stores / name).string();
    };
  }
  names.check_options = [](const scenario::Component& component) {
    const schedulers::Choice choice{component.plugin, component.name, component.options};
    std::vector<schedulers::OptionProblem> found;
    switch (component.kind) {
      case scenario::Component::Kind::kPolicy: found = schedulers::check_policy(choice); break;
      case scenario::Component::Kind::kRouter: found = schedulers::check_router(choice); break;
      case scenario::Component::Kind::kOracle: found = schedulers::check_oracle(choice); break;
    }
    std::vector<scenario::OptionProblem> problems;
    for (schedulers::OptionProblem& problem : found) problems.push_back({problem.option, problem.what});
    return problems;
  };
  return names;
}

}  // namespace dooly::sim
