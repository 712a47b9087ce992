#pragma once

#include <dlfcn.h>

#include <string>

namespace dooly::profiling {

/// Functions of a library that is there or not: found while running, for the life of the process.
class SharedLibrary {
 public:
  /// `name`: as dlopen takes it.
  explicit SharedLibrary(const char* name) : handle_(dlopen(name, RTLD_LAZY | RTLD_GLOBAL)) {}
  bool is_loaded() const { return handle_ != nullptr; }
  /// Null if the library or the symbol is missing.
  template <typename Function>
  Function* find(const char* symbol) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;  // stays open: what it registered must stay
};

}  // namespace dooly::profiling
