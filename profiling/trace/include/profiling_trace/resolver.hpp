#pragma once

#include "profiling_trace/signing.hpp"
#include "profiling_trace/trace.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Runs calls of a trace by themselves, in order, results handed on; says why it cannot, or "".
using Runner = std::function<std::string(const std::vector<std::size_t>& operators)>;
/// Inputs by replay.hpp. `trace` must outlive it.
Runner replay_runner(const Trace& trace);

/// A part of a pass that runs by itself.
struct ResolvedUnit {
  bool is_module = false;    ///< else one operation, whose calls are `operators`
  std::size_t module = 0;    ///< the module, or the one that the operation is in
  std::vector<std::size_t> operators;
  std::string why;           ///< of a module: what did not run alone within it
  bool too_large = false;    ///< more than one attention, MLP or block of experts: counts as not resolved
  double seconds = 0;
};

struct Resolution {
  std::vector<ResolvedUnit> units;        ///< no call is in two of them
  std::vector<std::size_t> unresolved;    ///< calls that run in no unit
  std::vector<std::size_t> nameless;      ///< calls that run alone and have no operator key
  double total_seconds = 0;               ///< of the pass
  double attributed_seconds = 0;          ///< of operations with a key and modules that are not too large
  double above_operator_seconds = 0;      ///< of modules, those too large as well
  /// attributed ÷ total; nothing was timed: by number of calls.
  double coverage = 0;
};

/// Bottom up: each operation alone; where one does not run, its nearest parent module, whose other operations are then
/// part of it. Equal calls are tried once.
Resolution resolve(const Trace& trace, const SignedTrace& keys, const Runner& runner);

/// Coverage, share of modules, and what is missing by falling time.
std::string resolution_text(const Trace& trace, const Resolution& resolution);

}  // namespace dooly::profiling
