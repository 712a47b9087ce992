#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dooly::scenario {

/// The files of a store named in a scenario: `at` itself if there is such a directory or file, else all portable files
/// whose names begin with it: beside it, and if `text` is a plain name also in the directories of DOOLY_PATH and in
/// `more`; of files of one name the first. Sorted by name. Throws std::string: what is wrong, and
/// which stores are there.
std::vector<std::filesystem::path> find_store(const std::string& text, const std::filesystem::path& at,
                                              const std::vector<std::filesystem::path>& more);

}  // namespace dooly::scenario
