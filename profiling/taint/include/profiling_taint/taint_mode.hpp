#pragma once

#include "profiling_taint/operator_record.hpp"
#include "profiling_taint/rule_table.hpp"
#include "profiling_taint/tainted_int.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <vector>

namespace dooly::profiling {

/// A call that has run, its results labelled. `arguments`: as the operator got them, tainted integers replaced by their
/// values. `results`: in the order of record.outputs.
struct ObservedCall {
  const OperatorRecord& record;
  const c10::OperatorHandle& handle;
  const std::vector<c10::IValue>& arguments;
  const std::vector<at::Tensor>& results;
};

class OperatorListener {
 public:
  virtual ~OperatorListener() = default;
  virtual void on_operator(const ObservedCall& call) = 0;
};

struct TaintOptions {
  bool mapping_rules = true;  ///< false: the ablation of label_outputs()
};

/// While it lives, every operator that this thread calls through LibTorch's dispatcher, custom libraries included, is
/// seen before autograd and before decomposition: tainted integers become plain ones, the operator runs, its results
/// are labelled by the rule table. What operators call inside is not seen. One at a time on a thread (TaintError else).
/// Errors of rules reach whoever called the operator.
class TaintMode {
 public:
  /// `listener` outlives the mode; null: nobody listens.
  TaintMode(Binding binding, OperatorListener* listener, TaintOptions options = {});
  ~TaintMode();
  TaintMode(const TaintMode&) = delete;
  TaintMode& operator=(const TaintMode&) = delete;

  /// A tainted integer that is the symbol `name`. Throws TaintError if the symbol has another value already.
  c10::SymInt symbol(std::string_view name, std::int64_t value, Origin origin);
  /// A dimension as a tainted integer; a plain one where it is unlabelled.
  c10::SymInt size(const at::Tensor& tensor, std::int64_t dim) const;
  /// Labels a tensor at its source. Throws TaintError where a label's value is not the size.
  void label(const at::Tensor& tensor, Labels labels) const;
  const Binding& binding() const { return binding_; }
  const std::vector<Concretisation>& concretisations() const { return concretisations_; }

  void run(const c10::OperatorHandle& handle, std::vector<c10::IValue>& stack);  ///< for the dispatcher's fallback

 private:
  struct Guard;
  Binding binding_;
  OperatorListener* listener_;
  TaintOptions options_;
  std::vector<Concretisation> concretisations_;
  std::unique_ptr<Guard> guard_;
};

/// Runs one operator call, and what else it likes before and after.
using AroundCall = std::function<void(const std::function<void()>& call)>;

/// While it lives, operators of this thread pass unseen: they run, with plain integers for tainted ones, and nobody
/// hears of them or labels their results. `around`, if given, runs each call that a mode would have seen.
class Untraced {
 public:
  explicit Untraced(AroundCall around = {});
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  AroundCall around_;
  const AroundCall* before_;
};

}  // namespace dooly::profiling
