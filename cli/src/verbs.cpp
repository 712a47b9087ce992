#include "verbs.hpp"

namespace dooly::cli {

std::vector<VerbGroup> all_verbs() {
  std::vector<VerbGroup> groups;
  groups.push_back({"Simulate", {run_command()}});
  groups.push_back(
      {"Write a scenario", {init_command(), check_command(), explain_command(), list_command(), schema_command()}});
  groups.push_back({"Traces and plug-ins", {workload_command(), new_command()}});
  groups.push_back({"Latencies",
                    {plan_command(), predict_command(), serve_oracle_command(), store_command(), profile_command(),
                     validate_command()}});
  groups.push_back({"In later versions", later_commands()});
  return groups;
}

}  // namespace dooly::cli
