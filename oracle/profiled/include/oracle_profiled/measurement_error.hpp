#pragma once

#include "oracle/sample.hpp"

namespace dooly::oracle {

/// Relative error of a sample as a measurement: what to expect of the same point measured again. Never 0. Of
/// - its repetitions: twice the standard error of their mean (over processes, where several measured it);
/// - a short point of one process: kernels under 5 us take one of several times, up to 0.25 us apart, for its life;
/// - another day: kAgainError, or kUntoldError where no spread is told (points of an H200 measured again, median and
///   90th percentile: stores/README.md).
double measurement_error(const Sample& sample);

inline constexpr double kAgainError = 0.0125;
inline constexpr double kUntoldError = 0.03;

}  // namespace dooly::oracle
