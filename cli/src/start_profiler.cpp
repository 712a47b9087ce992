#include "start_profiler.hpp"

#include "cli_error.hpp"
#include "documentation.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace dooly::cli {

bool asks_for_profiler(const std::vector<const char*>& words, std::vector<std::string>& rest) {
  std::size_t verb = 1;
  while (verb < words.size() && words[verb][0] == '-')
    verb += std::string_view(words[verb]) == "--log-level" ? 2 : 1;  // which has a value
  if (verb >= words.size() || std::string_view(words[verb]) != "profile") return false;
  rest.clear();
  for (std::size_t i = 1; i < words.size(); ++i)
    if (i != verb) rest.emplace_back(words[i]);
  return true;
}

void start_profiler(const std::vector<std::string>& words) {
  constexpr const char* kProgram = "dooly-profile";
  std::vector<char*> arguments{const_cast<char*>(kProgram)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::error_code ignored;
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / kProgram;
  ::execv(beside.c_str(), arguments.data());
  if (errno == ENOENT) ::execvp(kProgram, arguments.data());
  if (errno != ENOENT) throw UsageError(beside.string() + ": cannot be started: " + std::strerror(errno));
  throw UsageError(
      "dooly profile: the program dooly-profile is neither beside this one nor in PATH. It is built with the rest: "
      "cmake --build BUILD --target dooly-profile; measuring needs scripts/torch and -DDOOLY_PROFILING=ON. See " +
      documentation("profiling.md"));
}

}  // namespace dooly::cli
