#pragma once

#include <string>

#include "results/summary.hpp"

namespace dooly::results {

/// The text of summary.json: keys in a fixed order, numbers in shortest round-trip form, figures that do not exist as
/// null. A pure function of the summary.
std::string summary_json(const Summary& summary);

}  // namespace dooly::results
