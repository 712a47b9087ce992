#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dooly::scenario {

/// The files of a store that a user named: `at` itself if there is such a directory or file, else by name: the portable
/// file of just this name, else all whose names begin with it; beside `at`, and if `text` is a plain name also in the
/// directories of DOOLY_PATH and in `more`; of files of one name the first. Sorted by name. Throws std::string: what is
/// wrong, and which stores are there; also where a plain name means both `at` and files of those directories.
std::vector<std::filesystem::path> find_store(const std::string& text, const std::filesystem::path& at,
                                              const std::vector<std::filesystem::path>& more);

/// The portable files that a plain name means in the directories of DOOLY_PATH and among the shipped ones; empty: none,
/// or `text` is a path.
std::vector<std::filesystem::path> stores_called(const std::string& text);

/// Where the stores that ship with this program lie, there or not. Empty: the system does not say where it runs from.
std::filesystem::path shipped_stores();

}  // namespace dooly::scenario
