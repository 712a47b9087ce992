#pragma once

#include "profiling_measure/shared_library.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Hears of kernel launches through CUPTI's callbacks (loaded while running).
class KernelNames {
 public:
  KernelNames();
  ~KernelNames();
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;
  /// Symbols of the kernels that `launch` starts from this thread, in order, each once. Empty without CUPTI.
  std::vector<std::string> of(const std::function<void()>& launch);

 private:
  static void heard(void* self, int domain, unsigned call, const void* data);
  void listen(bool on);

  SharedLibrary library_;
  void* subscriber_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace dooly::profiling
