#pragma once

#include "scenarios/load.hpp"
#include "scenarios/scenario.hpp"
#include "value.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// What the schema cannot say: names that must exist, keys that must agree, room for the replicas. Looks only at values
/// that the schema accepted. Fills in what depends on several keys (the only node group, a model's own spelling).
class Checker {
 public:
  Checker(const Value& root, const PathRules& paths, const Names& names, Scenario& scenario,
          std::vector<Problem>& problems)
      : root_(root),
        paths_(paths),
        names_(names),
        scenario_(scenario),
        problems_(problems) {}

  void run();

 private:
  // check_workloads.cpp
  void check_workload_names();
  void check_workload(std::size_t index);
  void check_trace(const Value& value, const TraceSpec& trace);
  void check_end(const Value& value, std::string_view count_key, const Arrivals& arrivals);
  void check_arrivals(const Value& value);
  void check_lengths(const Value& value);
  void check_times(const Value& value);
  void check_lognormal(const Value& value);
  void check_slo(const Value& value, const WorkloadSpec& workload);
  void check_slo_conflicts();
  void check_priority(std::size_t index);

  // check_pools.cpp
  void check_pool(std::size_t index);
  void check_model(const Value& value, ModelSpec& model);
  void check_model_path(const Value& config, ModelSpec& model);
  bool is_folder(const Value& config) const;
  void check_nodes(const Value& value, Pool& pool);
  void check_node(const Value& value, const NodeRef& ref);
  void check_engine(const Value& value, EngineConfig& engine);
  void check_whole_prompts(const Value& value, const EngineConfig& engine);
  void check_placement();
  void check_classes();
  void check_entries(const std::string& class_name, const Mark& mark, const std::string& path);
  void check_roles();
  void check_pair(std::size_t prefill, std::size_t decode);

  // check.cpp
  void check_cluster();
  void check_component(const Value& value, Component::Kind kind, const std::filesystem::path* plugin,
                       const std::string& name, const Options& options);
  void check_oracles();
  void check_store(const Value& value, ProfiledOracleSpec& profiled);
  void check_platform();
  void check_platform_name(const Value& name);
  void check_kv_transfer();
  void unique_names(const Value& list);
  /// `looks_like`: what to compare for a suggestion instead of the value.
  void known_name(const Value& value, const std::vector<std::string>& known, const std::string& what,
                  std::string_view looks_like = {});
  void refuse(const Value& value, const std::string& what) { problems_.push_back({value.mark, value.path, what}); }

  bool has_row_classes() const;

  const Value& root_;
  const PathRules& paths_;
  const Names& names_;
  Scenario& scenario_;
  std::vector<Problem>& problems_;
};

/// Formats whose rows may name their class.
bool has_classes(std::string_view format);

}  // namespace dooly::scenario
