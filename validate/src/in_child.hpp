#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace dooly::validate {

/// Writes bytes that the parent shall get.
using ByteWriter = std::function<void(const void* bytes, std::size_t size)>;

/// Runs `work` in a forked process, which goes when this one does, and returns the bytes that it wrote. An exception of
/// `work` comes out here with its text: std::logic_error as that, all others, and the child's death, as
/// SimulationBrokeOff. Throws Interrupted once the flag of watch_interrupts() is raised.
std::string in_child(const std::function<void(const ByteWriter&)>& work);

}  // namespace dooly::validate
