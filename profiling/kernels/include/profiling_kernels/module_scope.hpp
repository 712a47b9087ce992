#pragma once

#include <string_view>

namespace dooly::profiling {

/// Hears which module of the model computes; its operators are those called between enter and leave on this thread.
class ModuleListener {
 public:
  virtual ~ModuleListener() = default;
  /// `name` within the parent ("layers.3", "qkv_proj"); `kind` is equal for modules of the same code ("Attention",
  /// "Linear", "RmsNorm").
  virtual void enter(std::string_view name, std::string_view kind) = 0;
  virtual void leave() noexcept = 0;
};

/// Who listens on this thread; null: nobody, and scopes cost one comparison. Does not own.
inline thread_local ModuleListener* module_listener = nullptr;

/// A module's forward pass, from construction to destruction. Scopes nest: the path is the names joined by dots.
class ModuleScope {
 public:
  ModuleScope(std::string_view name, std::string_view kind) : listener_(module_listener) {
    if (listener_ != nullptr) listener_->enter(name, kind);
  }
  ~ModuleScope() {
    if (listener_ != nullptr) listener_->leave();
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  ModuleListener* listener_;
};

}  // namespace dooly::profiling
