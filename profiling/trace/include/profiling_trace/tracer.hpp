#pragma once

#include "profiling_kernels/module_scope.hpp"
#include "profiling_taint/taint_mode.hpp"
#include "profiling_trace/trace.hpp"

#include <string_view>
#include <vector>

namespace dooly::profiling {

struct TracerOptions {
  bool config_taint = true;   ///< false: sizes of the model stay plain (ablation)
  bool mapping_rules = true;  ///< false: no rules for dimension-mapping operators (ablation)
};

/// Follows what this thread computes, from construction to finish(): operators with the module that called them and
/// the origin of each dimension; a buffer of plain sizes has the labels of what is written to it. While it lives it is
/// the thread's module listener and taint mode.
class Tracer final : public ModuleListener, public OperatorListener {
 public:
  explicit Tracer(TracerOptions options = {});
  ~Tracer() override;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  c10::SymInt request_symbol(std::string_view name, std::int64_t value);  ///< num_tokens, num_requests, ...
  /// hidden_size, num_heads, ...: what the model or the engine's settings decide.
  c10::SymInt model_symbol(std::string_view name, std::int64_t value);
  const TaintMode& mode() const { return mode_; }  ///< labels tensors that come from outside

  /// What comes now is recorded; before, operators are only labelled (weights, inputs).
  void start_recording() { recording_ = true; }
  /// The trace so far, with all symbols. Recording ends.
  Trace finish();

  void enter(std::string_view name, std::string_view kind) override;
  void leave() noexcept override;
  void on_operator(const ObservedCall& call) override;

 private:
  void label_late(const ObservedCall& call);
  bool config_taint_;
  bool recording_ = false;
  Trace trace_;
  std::size_t module_ = 0;
  std::unique_ptr<class ReplayRecorder> replays_;
  ModuleListener* listener_before_;
  TaintMode mode_;
};

}  // namespace dooly::profiling
