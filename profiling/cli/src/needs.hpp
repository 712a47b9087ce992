#pragma once

#include "cli_error.hpp"

#include <string_view>

namespace dooly::profiling {

/// Throws cli::UsageError where no NVIDIA GPU can be used: why, and `instead`, what the user can do. Commands that need
/// one ask this before they look for anything else.
void need_gpu(std::string_view instead);

/// What a build without LibTorch says; `so`: what follows from it.
cli::UsageError built_without_torch(std::string_view so);

}  // namespace dooly::profiling
