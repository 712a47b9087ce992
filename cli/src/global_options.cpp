#include "global_options.hpp"

namespace dooly::cli {

std::vector<OptionSpec> GlobalOptions::specs() {
  return {{"--quiet", "", "no progress and no notes on stderr; results and errors still come", &quiet},
          {"--no-color", "", "no colours (also: NO_COLOR in the environment)", &no_color},
          {"--log-level",
           "LEVEL",
           "what to tell on stderr, default info",
           &log_level,
           {"error", "warning", "info", "debug"}}};
}

TerminalSettings GlobalOptions::settings() const {
  using Level = TerminalSettings::Level;
  TerminalSettings made{.level = quiet ? Level::kError : Level::kInfo, .quiet = quiet, .no_color = no_color};
  if (!log_level) return made;
  made.level = *log_level == "error"     ? Level::kError
               : *log_level == "warning" ? Level::kWarning
               : *log_level == "info"    ? Level::kInfo
                                         : Level::kDebug;
  return made;
}

}  // namespace dooly::cli
