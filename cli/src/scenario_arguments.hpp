#pragma once

#include "command.hpp"

#include "scenarios/scenario.hpp"
#include "sim/deployment.hpp"
#include "workload/request_source.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dooly::cli {

/// What verbs that take a scenario have in common: SCENARIO.yaml, --set, --seed.
struct ScenarioArguments {
  std::string path;
  std::vector<std::string> sets;
  std::optional<std::string> seed;

  ArgumentSpec argument();
  std::vector<OptionSpec> options();
  /// Throws scenario::ScenarioError in terms of what the user typed.
  scenario::Scenario load() const;
};

/// Throws sim::DeploymentError with the scenario's file in front of every line; also for a policy or router that
/// refuses to be made.
sim::Deployment deploy(const scenario::Scenario& scenario, const std::string& path);

/// The requests that a scenario would receive. Throws workload::WorkloadError.
std::unique_ptr<workload::RequestSource> open_workload(const scenario::Scenario& scenario,
                                                       const sim::Deployment& deployment);

}  // namespace dooly::cli
