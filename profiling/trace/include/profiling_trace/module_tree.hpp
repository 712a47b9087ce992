#pragma once

#include "profiling_trace/trace.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A module of a trace, with its equals of the same parent folded into it: same name but for a number, same code, same
/// operators on the same labels and scalars, same submodules.
struct FoldedModule {
  std::size_t module = 0;           ///< of Trace::modules: the first of them
  std::vector<std::size_t> equals;  ///< all of them, in order
  double seconds = 0;               ///< of the operators in all of them, those of equal parents too
  /// Operators and folded modules, in order.
  struct Step {
    bool is_module = false;
    std::size_t index = 0;  ///< of Trace::operators or `modules`
    double seconds = 0;     ///< of the operators that are folded into this one
  };
  std::vector<Step> steps;
  std::vector<FoldedModule> modules;
};

FoldedModule fold(const Trace& trace);

/// "layers.0", "layers.1 … layers.31" for runs of numbers.
std::string folded_name(const Trace& trace, const FoldedModule& module);

/// One operator: name, arguments and results with labelled dimensions.
std::string operator_text(const OperatorRecord& record);

/// The tree for people: modules, how often, share of time (if timed), operators.
std::string trace_text(const Trace& trace);

/// The whole trace: symbols, folded tree, operators with labels and sizes, concretisations. Sorted members.
std::string trace_json(const Trace& trace);

}  // namespace dooly::profiling
