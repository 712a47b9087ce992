#pragma once

#include <system_error>

namespace dooly::cli {

/// Whether a path was given that can never do, as against a machine that gave out in the middle.
bool is_of_the_name(const std::system_error& error);

}  // namespace dooly::cli
