#pragma once

#include <string_view>

namespace dooly::cli {

/// What the user may set for all verbs.
struct TerminalSettings {
  enum class Level { kError, kWarning, kInfo, kDebug };
  Level level = Level::kInfo;
  bool quiet = false;     ///< no progress; messages from kError up unless a level was asked for
  bool no_color = false;  ///< also by NO_COLOR in the environment and TERM=dumb
};

/// Where the program writes: results to stdout, everything else to stderr.
class Terminal {
 public:
  explicit Terminal(TerminalSettings settings = {});

  /// A piece of the result.
  void print(std::string_view text);
  /// Throws results::WriteFailed if a part of the result did not get out.
  void flush();

  void error(std::string_view text) const;    ///< always shown
  void warning(std::string_view text) const;
  void note(std::string_view text) const;     ///< what a user may want to know
  void debug(std::string_view text) const;    ///< what a developer may want to know

  bool shows_progress() const { return !settings_.quiet; }
  bool progress_is_terminal() const { return stderr_is_terminal_; }
  bool colours() const { return stdout_colours_; }  ///< results may hold ANSI escapes

 private:
  void message(TerminalSettings::Level level, std::string_view colour, std::string_view label,
               std::string_view text) const;
  TerminalSettings settings_;
  bool stderr_is_terminal_ = false;
  bool stdout_colours_ = false;
  bool stderr_colours_ = false;
};

}  // namespace dooly::cli
