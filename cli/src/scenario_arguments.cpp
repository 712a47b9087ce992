#include "scenario_arguments.hpp"

#include "scenarios/load.hpp"
#include "workload/workload.hpp"

#include <map>

namespace dooly::cli {
namespace {

std::string with_file(const std::string& path, const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text += (text.empty() ? "" : "\n") + path + ": " + lines.substr(at, end - at);
    at = end + 1;
  }
  return text;
}

/// A policy or router may refuse its options when it is made; that must come out before a run starts.
void try_components(const sim::PoolDeployment& pool) {
  const auto refuse = [&](const std::string& key, std::string_view name, const std::exception& error) {
    throw sim::DeploymentError("pools." + pool.name + "." + key + ": '" + std::string(name) +
                               "' refuses: " + error.what());
  };
  try {
    pool.policy.make();
  } catch (const std::exception& error) {
    refuse("scheduler", pool.policy.name(), error);
  }
  try {
    pool.router.make();
  } catch (const std::exception& error) {
    refuse("router", pool.router.name(), error);
  }
}

}  // namespace

ArgumentSpec ScenarioArguments::argument() { return {"SCENARIO.yaml", "what to simulate", &path}; }

std::vector<OptionSpec> ScenarioArguments::options() {
  return {{"--set", "KEY=VALUE",
           "another value for a key, through the same checks; list members by name: "
           "pools.decode.replicas=8",
           &sets},
          {"--seed", "N", "short for --set seed=N", &seed}};
}

scenario::Scenario ScenarioArguments::load() const {
  std::vector<std::string> overrides = sets;
  if (seed) overrides.push_back("seed=" + *seed);
  try {
    return scenario::load_scenario(path, overrides, sim::known_names());
  } catch (const scenario::ScenarioError& error) {
    if (!seed) throw;
    const std::string inner = "--set seed=" + *seed;
    std::vector<std::string> messages = error.messages();
    for (std::string& message : messages)
      if (message.starts_with(inner + ":")) message.replace(0, inner.size(), "--seed " + *seed);
    throw scenario::ScenarioError(std::move(messages));
  }
}

sim::Deployment deploy(const scenario::Scenario& scenario, const std::string& path) {
  try {
    sim::Deployment deployment = sim::Deployment::build(scenario);
    for (const sim::PoolDeployment& pool : deployment.pools) try_components(pool);
    return deployment;
  } catch (const sim::DeploymentError& error) {
    throw sim::DeploymentError(with_file(path, error.what()));
  }
}

std::unique_ptr<workload::RequestSource> open_workload(const scenario::Scenario& scenario,
                                                       const sim::Deployment& deployment) {
  std::map<std::string, std::uint32_t> cache;  // a copy: the source may outlive both
  std::vector<std::uint32_t> limits;
  for (const sim::PoolDeployment& pool : deployment.pools) limits.push_back(pool.engine.max_model_len);
  const auto max_model_len = [scenario, limits, cache](const std::string& class_name) mutable {
    if (const auto known = cache.find(class_name); known != cache.end()) return known->second;
    std::uint32_t longest = 0;
    if (const auto entry = scenario.entry_pool(class_name)) {
      longest = limits[*entry];
      if (const auto decode = scenario.decode_pool(class_name)) longest = std::min(longest, limits[*decode]);
    }
    return cache.emplace(class_name, longest).first->second;
  };
  return workload::make_workload(scenario.workloads, scenario.seed, max_model_len);
}

}  // namespace dooly::cli
