#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace dooly::profiling {

/// The vLLM wheel's kernel libraries, loaded for the life of the process.
class VllmLibraries {
 public:
  /// Loads `names` (paths under `folder`). Their one Python symbol is never called, so they are bound lazily. Throws
  /// ProfilingError with the loader's words.
  VllmLibraries(const std::string& folder, const std::vector<std::string>& names);
};

/// One operator of those libraries, found by name and called boxed: their schemas have up to forty arguments, most of
/// them none. The call goes through the dispatcher, where a tracer sees it.
class VllmOperator {
 public:
  /// Throws ProfilingError naming the operator if no library registered it.
  explicit VllmOperator(const char* name);
  /// Results, if the schema has any.
  std::vector<c10::IValue> operator()(std::vector<c10::IValue> arguments) const;

 private:
  c10::OperatorHandle handle_;
};

}  // namespace dooly::profiling
