#pragma once

#include "oracle/dtype.hpp"
#include "oracle/latency_oracle.hpp"
#include "scenarios/scenario.hpp"
#include "sim/deployment.hpp"

#include <memory>
#include <string>

namespace dooly::sim {

struct Formats {
  oracle::DType dtype;
  oracle::DType kv_dtype;
};

/// Who answers how long the steps of a pool take. `pool` is complete but for its oracle. Throws oracle::OracleError.
std::unique_ptr<oracle::LatencyOracle> make_pool_oracle(const scenario::Scenario& scenario, const scenario::Pool& spec,
                                                        const scenario::NodeGroup& group, const PoolDeployment& pool,
                                                        Formats formats);

/// Sources of device times in words, the first to answer first.
std::string device_times(const scenario::Scenario& scenario, const PoolDeployment& pool);

}  // namespace dooly::sim
