#include "oracle/oracle_factory.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <array>
#include <string>

namespace dooly::oracle {

namespace {

constexpr std::array kKinds{
    OracleKind{"fixed", "step time linear in tokens and context, given in the scenario", true},
    OracleKind{"plugin", "a shared library's oracle", false},
    OracleKind{"profiled", "measured operators of a store", false},
    OracleKind{"roofline", "FLOPs, bytes and data-sheet peaks; for devices that nobody profiled", true},
};

HostTimes fixed_host_times(const OracleParameters& parameters) {
  return HostTimes(parameters.platform, parameters.model == nullptr ? LayerCounts{} : layer_counts(*parameters.model));
}

}  // namespace

std::span<const OracleKind> oracle_kinds() { return kKinds; }

std::unique_ptr<LatencyOracle> make_oracle(std::string_view kind, const OracleParameters& parameters) {
  std::string built;
  for (const OracleKind& known : kKinds) {
    if (known.name == kind && !known.built) {
      throw OracleError(fmt::format("oracle '{}' ({}) is not part of this build", kind, known.meaning));
    }
    if (!known.built) continue;
    built += built.empty() ? "" : ", ";
    built += known.name;
  }
  if (kind == "fixed") {
    return std::make_unique<FixedOracle>(parameters.fixed, fixed_host_times(parameters),
                                         CudaGraphs(parameters.roofline.capture_sizes));
  }
  if (kind == "roofline") {
    if (parameters.model == nullptr) throw OracleError("oracle 'roofline' needs a model");
    if (parameters.gpu == nullptr) throw OracleError("oracle 'roofline' needs a GPU");
    return std::make_unique<RooflineOracle>(*parameters.model, *parameters.gpu, parameters.roofline,
                                            parameters.platform);
  }
  throw OracleError(fmt::format("unknown oracle '{}'; known: {}", kind, built));
}

}  // namespace dooly::oracle
