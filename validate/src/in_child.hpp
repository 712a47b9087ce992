#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace dooly::validate {

/// Writes bytes that the parent shall get.
using ByteWriter = std::function<void(const void* bytes, std::size_t size)>;

/// Runs `work` in a forked process and returns the bytes that it wrote. An exception of `work` comes out here as
/// std::runtime_error with its text, as does the child's death.
std::string in_child(const std::function<void(const ByteWriter&)>& work);

}  // namespace dooly::validate
