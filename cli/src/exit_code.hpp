#pragma once

namespace dooly::cli {

/// Exit status of the program; what each means is part of its contract.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,       ///< an internal check failed: a bug
  kRefused = 2,        ///< bad usage or input; nothing was started
  kUnfinished = 3,     ///< started and could not finish; partial results are written and marked
  kJudgedBad = 4,      ///< judged and failed
  kInterrupted = 130,  ///< by the user; partial results are written and marked
};

}  // namespace dooly::cli
