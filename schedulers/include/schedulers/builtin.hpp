#pragma once

#include "dooly/sdk/entries.hpp"

#include <span>

namespace dooly::schedulers {

/// What this program has without plug-ins, in the order in which it is listed. Each stands on the public SDK only.
std::span<const sdk::PolicyEntry> builtin_policies();
std::span<const sdk::RouterEntry> builtin_routers();

}  // namespace dooly::schedulers
