#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>

namespace dooly {

/// Calls `work`, which returns a CUDA error; what it throws becomes -1 and words.
template <class Work>
int guarded(const Work& work, char* why, std::int64_t size) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::snprintf(why, static_cast<std::size_t>(size), "%s", error.what());
    return -1;
  }
}

}  // namespace dooly
