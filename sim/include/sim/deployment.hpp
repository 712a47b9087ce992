#pragma once

#include "oracle/gpu.hpp"
#include "oracle/latency_oracle.hpp"
#include "oracle/memory_plan.hpp"
#include "oracle/model_config.hpp"
#include "oracle/platform.hpp"
#include "replica_core/engine_config.hpp"
#include "scenarios/load.hpp"
#include "scenarios/placement.hpp"
#include "scenarios/scenario.hpp"
#include "schedulers/component.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::sim {

/// A scenario that is well formed but cannot be deployed: a model that does not fit its GPUs, a config.json that cannot
/// be read, a tensor parallel size that does not divide. The message names the pool. Nothing was started.
class DeploymentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One pool with everything derived from its scenario: what its replicas run on and how.
struct PoolDeployment {
  std::string name;
  scenario::Pool::Role role = scenario::Pool::Role::kMixed;
  oracle::ModelConfig model;
  const oracle::Gpu* gpu = nullptr;
  std::uint32_t tensor_parallel = 1;
  replica::EngineConfig engine;
  std::optional<oracle::MemoryPlan> memory;  ///< none if the blocks were given
  std::uint64_t kv_bytes_per_token = 0;  ///< all layers, all ranks: what a transfer moves
  std::uint64_t weight_bytes_per_gpu = 0;
  oracle::Platform platform;
  std::unique_ptr<oracle::LatencyOracle> oracle;
  std::string device_times = {};  ///< in words, who answers: "store 'h200', else the roofline"
  schedulers::Component<sdk::PolicyEntry> policy;
  schedulers::Component<sdk::RouterEntry> router;
  std::uint32_t replicas = 1;
  std::vector<scenario::ReplicaPlace> places;
  double nvlink_bytes_per_s = 0;
};

/// All pools of a scenario, ready to run: building it is the last check.
struct Deployment {
  std::vector<PoolDeployment> pools;
  std::vector<double> nvlink_by_group;  ///< bytes/s of one GPU and direction, by node group

  /// Throws DeploymentError with everything that is wrong, one problem a line.
  static Deployment build(const scenario::Scenario& scenario);

  /// Lines for `explain`: KV blocks and the sum behind them, weights, a step's roofline, platform.
  std::vector<std::string> notes(std::size_t pool) const;
  std::uint64_t gpus() const;
  /// Longest prompt plus output of a class, of the pool where it enters; 0: no pool serves it.
  std::uint32_t max_model_len(const scenario::Scenario& scenario, const std::string& class_name) const;
};

/// The names that a scenario may use in this program (models, GPUs, policies, ...), for the scenario loader.
scenario::Names known_names();

}  // namespace dooly::sim
