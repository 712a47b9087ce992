// What scenarios may name.
#include "oracle/gpu.hpp"
#include "oracle/model_table.hpp"
#include "oracle/platform.hpp"
#include "schedulers/builtin.hpp"
#include "sim/deployment.hpp"
#include "sim/profile_store.hpp"

#include <filesystem>
#include <system_error>

namespace dooly::sim {

scenario::Names known_names() {
  scenario::Names names;
  for (const auto& model : oracle::shipped_models()) names.models.emplace_back(model.name);
  for (const auto& gpu : oracle::shipped_gpus()) names.gpus.emplace_back(gpu.name);
  for (const auto& policy : schedulers::builtin_policies()) names.policies.emplace_back(policy.name);
  for (const auto& router : schedulers::builtin_routers()) names.routers.emplace_back(router.name);
  for (const auto& platform : oracle::shipped_platforms()) names.platforms.emplace_back(platform.name);
  for (const auto& term : oracle::platform_terms()) names.platform_terms.emplace_back(term.key);
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!ignored) {
    const std::filesystem::path stores = program.parent_path().parent_path() / "share/dooly/stores";
    names.store_directories.push_back(stores);
    names.shipped_store = [stores](const std::string& gpu) { return shipped_store(stores, gpu); };
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
