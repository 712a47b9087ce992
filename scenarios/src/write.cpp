#include "scenarios/write.hpp"

#include "tree.hpp"

#include <variant>

namespace dooly::scenario {
namespace {

/// Gathers the files of a scenario under the key paths that name them.
class InputFiles {
 public:
  std::vector<InputFile> of(const Scenario& scenario) {
    for (const WorkloadSpec& workload : scenario.workloads)
      std::visit([&](const auto& source) { add("workload." + workload.name, source); }, workload.source);
    for (const Pool& pool : scenario.pools) {
      const std::string key = "pools." + pool.name;
      if (pool.model.is_path) files_.push_back({key + ".model.config", pool.model.config});
      if (pool.scheduler.plugin) files_.push_back({key + ".scheduler.plugin", *pool.scheduler.plugin});
      if (pool.router.plugin) files_.push_back({key + ".router.plugin", *pool.router.plugin});
    }
    for (std::size_t i = 0; i < scenario.oracles.size(); ++i) {
      const std::string key = "oracle." + std::to_string(i);
      if (const auto* profiled = std::get_if<ProfiledOracleSpec>(&scenario.oracles[i]))
        for (const std::filesystem::path& file : profiled->files) files_.push_back({key + ".store", file});
      if (const auto* plugin = std::get_if<PluginOracleSpec>(&scenario.oracles[i]))
        files_.push_back({key + ".plugin", plugin->plugin});
    }
    return std::move(files_);
  }

 private:
  void add(const std::string& key, const TraceSpec& trace) {
    files_.push_back({key + ".trace.path", trace.path});
    if (trace.lengths_path) files_.push_back({key + ".trace.lengths", *trace.lengths_path});
    if (trace.arrivals) add(key + ".trace.arrivals", *trace.arrivals);
  }
  void add(const std::string& key, const SyntheticSpec& synthetic) {
    add(key + ".synthetic.arrivals", synthetic.arrivals);
    add(key + ".synthetic.prompt_tokens", synthetic.prompt_tokens);
    add(key + ".synthetic.output_tokens", synthetic.output_tokens);
  }
  void add(const std::string& key, const SessionsSpec& sessions) {
    add(key + ".sessions.arrivals", sessions.arrivals);
    add(key + ".sessions.turns", sessions.turns);
    add(key + ".sessions.think_time", sessions.think_time_s);
    add(key + ".sessions.first_prompt", sessions.first_prompt);
    add(key + ".sessions.turn_prompt", sessions.turn_prompt);
    add(key + ".sessions.output_tokens", sessions.output_tokens);
  }
  void add(const std::string& key, const Arrivals& arrivals) {
    if (const auto* replay = std::get_if<ReplayArrivals>(&arrivals.process))
      files_.push_back({key + ".path", replay->path});
    if (const auto* loop = std::get_if<ClosedLoopArrivals>(&arrivals.process))
      add(key + ".think_time", loop->think_time_s);
  }
  void add(const std::string& key, const Distribution& law) {
    if (const auto* empirical = std::get_if<Empirical>(&law))
      files_.push_back({key + ".empirical.path", empirical->path});
  }

  std::vector<InputFile> files_;
};

}  // namespace

std::string explain(const Scenario& scenario, const ExplainNotes& notes) {
  std::string text;
  for (const std::string& line : notes.scenario) text += "# " + line + "\n";
  const PathText as_is = [](const std::filesystem::path& path) { return path.string(); };
  return text + print_yaml(to_tree(scenario, as_is), notes.pool);
}

std::string resolved_text(const Scenario& scenario,
                          const std::function<std::string(const std::filesystem::path&)>& path_token) {
  return print_sorted(to_tree(scenario, path_token));
}

std::vector<InputFile> input_files(const Scenario& scenario) { return InputFiles().of(scenario); }

}  // namespace dooly::scenario
