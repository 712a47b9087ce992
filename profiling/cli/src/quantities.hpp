#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

// Values of options. All throw cli::UsageError that names the option.

/// "3%" -> 0.03; from 0.1 % to 50 %.
double percentage(std::string_view option, const std::string& text);
/// "300s", "5m", "1h", "200ms" -> seconds.
double duration_s(std::string_view option, const std::string& text);
std::uint64_t whole(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most);
/// "1,2,4" -> words; none may be empty or come twice.
std::vector<std::string> list_of(std::string_view option, const std::string& text);
/// A portable file's name, which ends in .jsonl.zst.
std::filesystem::path portable_name(std::string_view option, const std::string& text);
/// Where held-out points of a store or portable file go: beside it, `held-out-NAME.jsonl.zst`. The name begins
/// otherwise than the store's, so nobody who asks for stores by the beginning of their names gets it.
std::filesystem::path held_out_beside(const std::filesystem::path& store);
/// The folder of the engine's kernel libraries: it must be there, and `device` (that of --device) one that runs them.
std::string kernel_folder(const std::string& text, std::string_view device);
/// The folder for a sweep of these back ends: as asked, else $DOOLY_VLLM_KERNELS; empty if all of them are `torch`.
/// Throws where a back end's kernels could not be measured.
std::string kernels_of(const std::optional<std::string>& asked, std::string_view device,
                       const std::vector<std::string>& backends);

}  // namespace dooly::profiling
