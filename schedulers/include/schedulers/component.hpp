#pragma once

#include "schedulers/option_check.hpp"

#include "dooly/sdk/entries.hpp"

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace dooly::schedulers {

/// What a scenario writes to name a policy, router or oracle.
struct Choice {
  const std::filesystem::path* plugin = nullptr;  ///< null: built in
  std::string_view name;
  const GivenOptions& options;
};

/// A component that was found and whose options passed: `make()` as often as there are replicas or pools.
template <class Entry>
class Component {
 public:
  Component(const Entry& entry, sdk::Options options) : entry_(&entry), options_(std::move(options)) {}
  std::string_view name() const { return entry_->name; }
  const sdk::Options& options() const { return options_; }
  /// Throws what the component's own constructor throws.
  template <class... Context>
  auto make(const Context&... context) const {
    return entry_->create(options_, context...);
  }

 private:
  const Entry* entry_;
  sdk::Options options_;
};

/// All that is wrong with a choice: plug-in, name, options. Loads the plug-in to find out.
std::vector<OptionProblem> check_policy(const Choice& choice);
std::vector<OptionProblem> check_router(const Choice& choice);
std::vector<OptionProblem> check_oracle(const Choice& choice);

/// Throws ComponentError with everything that the check finds, one problem a line.
Component<sdk::PolicyEntry> find_policy(const Choice& choice);
Component<sdk::RouterEntry> find_router(const Choice& choice);
/// Only from plug-ins: the built-in oracles are not of this room. make() takes an sdk::OracleTarget.
Component<sdk::OracleEntry> find_oracle(const Choice& choice);

}  // namespace dooly::schedulers
