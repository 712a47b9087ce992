#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace dooly::schedulers {

/// Writes a new out-of-tree plug-in with one policy and its test, ready to build, into the new directory `directory`.
/// Returns the files written. Throws ComponentError if `name` is not a lower-case letter followed by up to 63
/// lower-case letters, digits, '-' or '_', if it is the name of a built-in policy, if `directory` exists, or if it
/// cannot be written.
std::vector<std::filesystem::path> write_policy_template(std::string_view name, const std::filesystem::path& directory);

/// The same with one router.
std::vector<std::filesystem::path> write_router_template(std::string_view name, const std::filesystem::path& directory);

}  // namespace dooly::schedulers
