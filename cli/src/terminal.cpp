#include "terminal.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "results/errors.hpp"

namespace dooly::cli {
namespace {

constexpr std::string_view kRed = "\x1b[31m", kYellow = "\x1b[33m", kDim = "\x1b[2m", kPlain = "\x1b[0m";

bool wants_colours(const TerminalSettings& settings) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !settings.no_color && !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
}

void put(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

}  // namespace

Terminal::Terminal(TerminalSettings settings)
    : settings_(settings),
      stderr_is_terminal_(::isatty(STDERR_FILENO) != 0),
      stdout_colours_(wants_colours(settings) && ::isatty(STDOUT_FILENO) != 0),
      stderr_colours_(wants_colours(settings) && stderr_is_terminal_) {}

void Terminal::print(std::string_view text) { put(stdout, text); }

void Terminal::flush() {
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return;
  const int error = errno;
  std::clearerr(stdout);
  throw results::WriteFailed(std::string("standard output: cannot write: ") + std::strerror(error != 0 ? error : EIO));
}

void Terminal::error(std::string_view text) const { message(TerminalSettings::Level::kError, kRed, "", text); }
void Terminal::warning(std::string_view text) const {
  message(TerminalSettings::Level::kWarning, kYellow, "warning: ", text);
}
void Terminal::note(std::string_view text) const { message(TerminalSettings::Level::kInfo, "", "", text); }
void Terminal::debug(std::string_view text) const { message(TerminalSettings::Level::kDebug, kDim, "debug: ", text); }

void Terminal::message(TerminalSettings::Level level, std::string_view colour, std::string_view label,
                       std::string_view text) const {
  if (level > settings_.level) return;
  std::string line;
  if (stderr_colours_) line += colour;
  line.append(label).append(text);
  if (stderr_colours_ && !colour.empty()) line += kPlain;
  line += '\n';
  put(stderr, line);  // in one piece: other programs may write there, too
}

}  // namespace dooly::cli
