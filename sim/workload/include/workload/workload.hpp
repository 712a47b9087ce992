#pragma once

#include "scenarios/workload.hpp"
#include "workload/request_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dooly::workload {

/// The longest prompt plus output that requests of a class may have, of the pool that serves them; 0: no limit. Only
/// workloads with `too_long: truncate` ask.
using MaxModelLen = std::function<std::uint32_t(const std::string& class_name)>;

/// The merged stream of a scenario's workloads. Order: time, then the workloads' order in the scenario, then each one's
/// own order. Ids are those of the file if the scenario is one trace with ids, read once; else 0, 1, 2 … in stream
/// order. Sessions, prefixes and blocks of different workloads are kept apart by their numbers (n becomes n k + i for
/// workload i of k). Adding a workload changes no draw of another one. Reads and checks files of up to about a million
/// rows here, larger ones while they stream. Throws WorkloadError.
std::unique_ptr<RequestSource> make_workload(const std::vector<scenario::WorkloadSpec>& specs, std::uint64_t seed,
                                             const MaxModelLen& max_model_len = {});

/// One trace file as it is, its format detected if `format` is empty; a file without times arrives at once.
std::unique_ptr<RequestSource> open_trace_workload(const std::filesystem::path& path, const std::string& format = {});

}  // namespace dooly::workload
