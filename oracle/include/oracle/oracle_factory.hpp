#pragma once

#include "oracle/fixed_oracle.hpp"
#include "oracle/gpu.hpp"
#include "oracle/latency_oracle.hpp"
#include "oracle/model_config.hpp"
#include "oracle/platform.hpp"
#include "oracle/roofline_oracle.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace dooly::oracle {

/// A kind of oracle as scenarios name it.
struct OracleKind {
  std::string_view name;
  std::string_view meaning;
  bool built = true;  ///< false: known, but not part of this build
};

std::span<const OracleKind> oracle_kinds();

/// Everything an oracle may be made of; each kind takes what it needs.
struct OracleParameters {
  const ModelConfig* model = nullptr;  ///< roofline: required. fixed: only for launch times by layer
  const Gpu* gpu = nullptr;            ///< roofline: required
  RooflineSettings roofline;           ///< `capture_sizes` count for `fixed` too
  Platform platform;                   ///< host times; default: none
  FixedOracle::Linear fixed;
};

/// Throws OracleError for an unknown kind (lists the known ones), one that is not built, or missing parameters.
std::unique_ptr<LatencyOracle> make_oracle(std::string_view kind, const OracleParameters& parameters);

}  // namespace dooly::oracle
