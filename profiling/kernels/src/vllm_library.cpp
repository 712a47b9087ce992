#include "vllm_library.hpp"

#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>
#include <utility>

namespace dooly::profiling {

namespace {

c10::OperatorHandle find(const char* name) {
  auto handle = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!handle) {
    throw ProfilingError(fmt::format("no loaded library has the operator {}", name));
  }
  return *handle;
}

}  // namespace

/// The wheel writes `__version__ = version = '0.26.0'` or, in two lines, either of them.
std::string vllm_version(const std::string& folder) {
  std::ifstream file(folder + "/_version.py");
  for (std::string line; std::getline(file, line);) {
    const bool names_it = line.starts_with("__version__ =") || line.starts_with("version =");
    const std::size_t open = line.find_first_of("'\"");
    if (names_it && open != std::string::npos) {
      const std::size_t close = line.find(line[open], open + 1);
      return line.substr(open + 1, close - open - 1);
    }
  }
  return "unknown";
}

VllmLibraries::VllmLibraries(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      throw ProfilingError(fmt::format("kernel library of vLLM cannot be loaded: {}", dlerror()));
    }
  }
}

VllmOperator::VllmOperator(const char* name) : handle_(find(name)) {}

std::vector<c10::IValue> VllmOperator::operator()(std::vector<c10::IValue> arguments) const {
  handle_.callBoxed(&arguments);
  return arguments;
}

}  // namespace dooly::profiling
