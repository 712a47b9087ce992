#include "demands.hpp"

#include "cli_error.hpp"
#include "text.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"
#include "profiling_kernels/attention_backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace dooly::profiling {
namespace {

oracle::ModelConfig model_of(const std::string& config) {
  std::error_code ignored;
  if (oracle::is_shipped_model(config) || !std::filesystem::exists(config, ignored)) return oracle::find_model(config);
  return oracle::load_model_file(config);
}

/// "models/meta-llama--Llama-3.1-8B/config.json" -> "meta-llama--Llama-3.1-8B".
std::string short_name(const std::string& config) {
  std::error_code ignored;
  if (!std::filesystem::exists(config, ignored)) return config;
  std::filesystem::path path = std::filesystem::path(config).lexically_normal();
  if (path.filename() == "config.json") path = path.parent_path();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace

std::vector<std::string> profile_backends() {
  std::vector<std::string> names;
  for (const std::string_view name : kAttentionBackends) names.emplace_back(name);
  return names;
}

void require_backend(const std::string& name) {
  const std::vector<std::string> known = profile_backends();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw cli::UsageError("--backend: " + cli::refused_word("unknown back end", name, known));
}

std::vector<Unmeasurable> take_unmeasurable(
    Demands& demands, const std::set<oracle::Signature>& measured,
    const std::function<std::string(const std::string& backend, const oracle::OperatorKey& key)>& refusal) {
  std::vector<Unmeasurable> out;
  std::set<oracle::Signature> seen;
  for (Demand& demand : demands.all) {
    std::erase_if(demand.operations, [&](const Operation& operation) {
      if (operation.binding == oracle::Binding::kCollective || measured.contains(operation.signature)) return false;
      std::string why = refusal(demand.backend, operation.key);
      if (why.empty()) return false;
      if (seen.insert(operation.signature).second) out.push_back({operation.key, std::move(why)});
      return true;
    });
  }
  return out;
}

Demands demands_of(const DemandRequest& request) {
  Demands demands;
  for (const std::string& config : request.configs) {
    const std::string name = short_name(config);
    try {
      const oracle::ModelConfig model = model_of(config);
      for (const std::string& backend : request.backends) {
        for (const std::uint32_t tp : request.tensor_parallel) {
          oracle::PlanSettings settings;
          settings.backend = backend;
          settings.dtype = request.dtype;
          settings.tensor_parallel = tp;
          try {
            demands.all.push_back({name, backend, tp, make_plan(model, settings).entries});
          } catch (const oracle::OracleError& error) {
            demands.refused.emplace_back(fmt::format("{} {} tp {}", name, backend, tp), error.what());
          }
        }
      }
    } catch (const oracle::OracleError& error) {
      if (std::string_view(error.what()).starts_with("unknown model")) throw;  // a slip, and no model we cannot run
      demands.refused.emplace_back(name, error.what());
    }
  }
  return demands;
}

}  // namespace dooly::profiling
