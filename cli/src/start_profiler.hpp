#pragma once

#include <string>
#include <vector>

namespace dooly::cli {

/// The words of `dooly [OPTIONS] profile …` without that verb, for the other program; none if it is another verb.
/// `words` as main() gets them.
bool asks_for_profiler(const std::vector<const char*>& words, std::vector<std::string>& rest);

/// Becomes `dooly-profile` with these words: the one beside this program, else the one in PATH. Returns only by
/// throwing UsageError, if there is none.
[[noreturn]] void start_profiler(const std::vector<std::string>& words);

}  // namespace dooly::cli
