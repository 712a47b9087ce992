#pragma once

#include <span>
#include <vector>

namespace dooly::oracle {

/// Coefficients >= 0 that minimise the sum of (1 - features·x / target)², that is the relative error; `features` row by
/// row. Lawson and Hanson, Solving Least Squares Problems (1974), algorithm 23.10. Deterministic.
std::vector<double> fit_non_negative(std::span<const double> features, std::span<const double> targets);

}  // namespace dooly::oracle
