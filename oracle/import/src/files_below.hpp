#pragma once

#include <filesystem>
#include <vector>

namespace dooly::import_ {

/// Regular files in `folder` and in what it holds, sorted; behind links too, but no folder twice: one that a link leads
/// back to is left out. Throws ImportError naming what cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace dooly::import_
