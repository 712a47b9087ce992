#pragma once

#include "profiling_taint/operator_record.hpp"
#include "profiling_taint/tainted_int.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

struct ReplayCall;  // replay.hpp: enough to run an operator again

struct TracedOperator {
  OperatorRecord record;
  std::size_t module = 0;  ///< of Trace::modules: the innermost one open
  std::uint32_t times = 1;  ///< calls that it stands for: layers that were left out are like its own
  double seconds = 0;       ///< of all of them; 0 where nothing was timed
  std::vector<std::string> kernels;  ///< symbols of what it launched on a GPU, if it was timed there
  std::shared_ptr<const ReplayCall> replay;
};

/// A module's forward pass, once.
struct TracedModule {
  std::string name;        ///< within the parent
  std::string kind;        ///< equal for modules of the same code
  std::string path;        ///< names joined by dots; "" for the root
  std::size_t parent = 0;  ///< the root is its own
  std::uint32_t times = 1;  ///< modules that it stands for, equal parents counted
  /// What it did, in order: operators and modules.
  struct Step {
    bool is_module = false;
    std::size_t index = 0;  ///< of Trace::operators or Trace::modules
  };
  std::vector<Step> steps;
};

/// One pass of a model.
struct Trace {
  Binding binding;  ///< of all symbols, in this pass
  std::vector<TracedOperator> operators;
  std::vector<TracedModule> modules{{}};  ///< [0] is the root, which holds what no module did
  std::vector<Concretisation> concretisations;
  double seconds = 0;  ///< of the pass, by the operators' clock in the same runs; 0 where nothing was timed
  std::map<std::string, double> outside;  ///< kernels that no operator of the model launched, and their seconds
};

/// A dimension whose origin nobody knows: "aten::view result 0 dimension 1 of size 64 in model.layers.0".
std::vector<std::string> unlabelled_dims(const Trace& trace);
std::size_t count_dims(const Trace& trace);  ///< of operands and results, labelled or not

}  // namespace dooly::profiling
