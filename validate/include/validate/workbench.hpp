#pragma once

#include "scenarios/scenario.hpp"
#include "sim/deployment.hpp"
#include "validate/validation.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::validate {

/// What all comparisons of one command share: imported profiles (each read once, kept in a temporary directory that
/// goes with the workbench) and the way from a validation to a scenario that can run.
class Workbench {
 public:
  /// `note` gets lines for the user (imports that take a while); may be empty.
  explicit Workbench(std::function<void(const std::string&)> note = {});
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  /// The validation's scenario with `overrides` (`key.path=value` as in `--set`). A scenario without workload gets one
  /// that is never drawn from: measurements bring their own requests. Throws ScenarioError, MissingData.
  scenario::Scenario scenario(const Validation& validation, const std::vector<std::string>& overrides = {});
  /// Everything derived from it. Throws DeploymentError that names the validation file.
  sim::Deployment deploy(const Validation& validation, const scenario::Scenario& scenario);

  /// Multiplies one term of all oracles that deploy() makes from now on (`sensitivity`); empty: none.
  void scale(std::string term, double factor);

 private:
  class Profiles;
  std::unique_ptr<Profiles> profiles_;
  std::string scaled_term_;
  double factor_ = 1;
};

}  // namespace dooly::validate
