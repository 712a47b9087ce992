#include "oracle_profiled/measurement_error.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr double kShortS = 5e-6, kTimesApartS = 0.25e-6;

}  // namespace

double measurement_error(const Sample& sample) {
  if (!(sample.median_s > 0)) return 1;
  const bool is_told = sample.std_s > 0;
  const double draws = sample.processes > 1 ? sample.processes : sample.count;
  const double repetitions = draws >= 2 ? 2 * sample.std_s / std::sqrt(draws) : sample.std_s;
  const double times = sample.processes <= 1 && sample.median_s < kShortS ? kTimesApartS / 2 : 0;
  return std::min(
      1.0, std::hypot(repetitions / sample.median_s, times / sample.median_s, is_told ? kAgainError : kUntoldError));
}

}  // namespace dooly::oracle
