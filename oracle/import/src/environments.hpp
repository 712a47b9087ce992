#pragma once

#include "oracle/environment.hpp"
#include "oracle/gpu.hpp"
#include "oracle_import/import_profile.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dooly::import_ {

/// Name in the GPU table of what a driver, a profiler or a folder calls a device ("NVIDIA H100 80GB HBM3", "a100",
/// "RTXPRO6000"); the text itself if the table has no such device.
std::string gpu_name(std::string_view text);

/// Entry of the GPU table, if it has one.
const oracle::Gpu* known_gpu(std::string_view name);

/// Environment of a device that the profile calls `gpu`; the caller's `--gpu`, `--engine`, `--cuda` and `--driver` win.
/// Throws ImportError, naming `where` and the option, if neither says a GPU.
oracle::Environment environment_of(std::string_view gpu, const ImportOptions& options, std::string_view source,
                                   std::string_view where);

/// The same for collectives: with the links between the ranks; the caller's `--topology` wins.
oracle::Environment with_topology(oracle::Environment environment, std::string_view topology,
                                  const ImportOptions& options);

/// What links the GPUs of one node of this kind: nvlink or pcie; empty if the table does not know the device.
std::string node_link(std::string_view gpu);

}  // namespace dooly::import_
