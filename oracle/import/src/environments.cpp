#include "environments.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle_import/import_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace dooly::import_ {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (out.starts_with("nvidia")) out.erase(0, 6);
  return out;
}

// Letters and digits in lower case, without NVIDIA -> name in the GPU table.
constexpr std::array kNames{
    std::pair{"a100sxm480gb", "A100-SXM-80GB"},
    std::pair{"a100sxm", "A100-SXM-80GB"},
    std::pair{"a100sxm440gb", "A100-SXM-40GB"},
    std::pair{"a10080gbpcie", "A100-PCIe-80GB"},
    std::pair{"h10080gbhbm3", "H100-SXM"},
    std::pair{"h10080gb", "H100-SXM"},
    std::pair{"h100sxm80gb", "H100-SXM"},
    std::pair{"h100sxm5", "H100-SXM"},
    std::pair{"h200sxm141gb", "H200-SXM"},
    std::pair{"geforcertx4090", "RTX-4090"},
    std::pair{"rtxpro6000", "RTX-PRO-6000"},
    std::pair{"rtxpro6000blackwellserveredition", "RTX-PRO-6000"},
    std::pair{"l40s48gb", "L40S"},
};

}  // namespace

const oracle::Gpu* known_gpu(std::string_view name) {
  try {
    return &oracle::find_gpu(name);
  } catch (const oracle::OracleError&) {
    return nullptr;
  }
}

std::string gpu_name(std::string_view text) {
  const std::string bare = folded(text);
  for (const auto& [alias, name] : kNames)
    if (bare == alias) return name;
  for (const oracle::Gpu& gpu : oracle::shipped_gpus())
    if (bare == folded(gpu.name)) return std::string(gpu.name);
  if (const oracle::Gpu* gpu = known_gpu(bare)) return std::string(gpu->name);
  return std::string(text);
}

oracle::Environment environment_of(std::string_view gpu, const ImportOptions& options, std::string_view source,
                                   std::string_view where) {
  const std::string_view asked = options.gpu.empty() ? gpu : std::string_view(options.gpu);
  if (asked.empty())
    throw ImportError(fmt::format("{}: nothing here says which GPU was measured; say it with --gpu NAME", where));
  oracle::Environment environment;
  environment.gpu = gpu_name(asked);
  if (const oracle::Gpu* known = known_gpu(environment.gpu)) {
    environment.multiprocessors = known->multiprocessors;
    environment.memory_bytes = static_cast<std::uint64_t>(std::llround(known->memory_bytes));
  }
  environment.driver = options.driver;
  environment.cuda = options.cuda;
  environment.source = std::string(source);
  if (!options.engine.empty()) {
    const auto equals = options.engine.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == options.engine.size())
      throw ImportError(fmt::format("--engine: must be NAME=VERSION, got '{}'", options.engine));
    environment.libraries[options.engine.substr(0, equals)] = options.engine.substr(equals + 1);
  }
  return environment;
}

oracle::Environment with_topology(oracle::Environment environment, std::string_view topology,
                                  const ImportOptions& options) {
  environment.topology = options.topology.empty() ? std::string(topology) : options.topology;
  return environment;
}

std::string node_link(std::string_view gpu) {
  const oracle::Gpu* known = known_gpu(gpu);
  if (known == nullptr) return {};
  return known->has_nvlink ? "nvlink" : "pcie";
}

}  // namespace dooly::import_
