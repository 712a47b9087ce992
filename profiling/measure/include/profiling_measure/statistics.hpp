#pragma once

#include "oracle/sample.hpp"

#include <cstddef>
#include <span>

namespace dooly::profiling {

/// Half the width of the 95 % confidence interval of the mean (Student's t), over the mean. Infinite for fewer than two
/// values.
double relative_interval(std::span<const double> values);

/// Percentile by linear interpolation between the closest ranks; `sorted` is ascending and not empty.
double percentile(std::span<const double> sorted, double share);

/// count, median, mean, standard deviation (of the sample, n - 1), least, 10th and 90th percentile.
void summarise(std::span<const double> seconds, oracle::Sample& sample);

}  // namespace dooly::profiling
