#pragma once

#include <atomic>
#include <stdexcept>

namespace dooly::validate {

/// The user wants no more: what is running was given up.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// From now on a raised `flag` (it must outlive all validations; null: none) ends what runs with Interrupted. One a
/// process, as signals are.
void watch_interrupts(const std::atomic<bool>* flag);

/// Throws Interrupted if the flag is raised.
void stop_if_interrupted();

}  // namespace dooly::validate
