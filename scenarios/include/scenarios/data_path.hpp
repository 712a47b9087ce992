#pragma once

#include <filesystem>
#include <string>

namespace dooly::scenario {

/// A path as it stands in a file of ours, absolute. Relative ones start at `base`. One that starts with `$DOOLY_DATA/`
/// starts at the directory that this environment variable names; where it is not set, at the nearest directory `shared`
/// that holds a `data`, beside `base` or one of the directories above it. Throws std::string, what is wrong, if there
/// is neither.
std::filesystem::path resolve_path(const std::string& text, const std::filesystem::path& base);

}  // namespace dooly::scenario
