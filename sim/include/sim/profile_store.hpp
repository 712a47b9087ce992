#pragma once

#include "oracle/sample_set.hpp"
#include "oracle/step_plan.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::sim {

/// Where the ranks of a replica lie.
struct RankSpread {
  std::uint64_t nodes = 1;
  std::uint64_t gpus = 1;  ///< on each node
};

/// The samples of `paths` (store directories, portable files, merged) that may answer for a GPU: those of environments
/// of that name (of `CPU`: any processor's), those whose links are nearest to the deployment's first, among them
/// measured ones before imported ones. `environment`, if not empty, must begin the environment's id or stand in its
/// description (store::title). Throws store::StoreError, also when asked for a signature that two equally near
/// environments hold.
std::unique_ptr<oracle::SampleSource> open_profiles(const std::vector<std::filesystem::path>& paths,
                                                    std::string_view gpu, std::string_view environment = {},
                                                    const RankSpread& spread = {});

/// GPUs of all environments that pass `environment`, sorted.
std::vector<std::string> profiled_gpus(const std::vector<std::filesystem::path>& paths,
                                       std::string_view environment = {});

/// The name by which a scenario calls the portable files of a directory that were measured on a GPU (a name or an alias
/// of the GPU table): what stands before the first dash of theirs and begins the GPU's name, `h200` of
/// `h200-vllm.jsonl.zst` for H200-SXM. Empty: there are none. Files of other names are not opened.
std::string shipped_store(const std::filesystem::path& directory, std::string_view gpu);

/// Attention back end of vLLM on a GPU unless the user names one: fa3 on Hopper, flashinfer on Blackwell's data-centre
/// parts, else fa2. Of a processor, torch: that of the profiler's built-in engine.
std::string_view default_attention_backend(std::string_view gpu);

/// Whether any of a plan's attention was measured, or a module that covers it.
using IsMeasured = std::function<bool(const oracle::Signature&)>;
bool is_attention_measured(const oracle::StepPlan& plan, const IsMeasured& is_measured);
/// The plan of the back end that was measured, where nobody asked for one: `plan` if its attention was; else that of
/// the first other one whose attention was, default_attention_backend(gpu) before all others; else `plan`. `make`: the
/// plan of a back end; `gpu` may be empty: not known.
oracle::StepPlan with_measured_backend(oracle::StepPlan plan, std::string_view gpu,
                                       const std::function<oracle::StepPlan(std::string_view backend)>& make,
                                       const IsMeasured& is_measured);

}  // namespace dooly::sim
