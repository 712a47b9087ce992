#pragma once

#include "oracle/sample.hpp"

#include <string_view>

namespace dooly::store {

/// Members of a sample's line in canonical order, as far as they are plain numbers; those that are 0 are left out.
struct Figure {
  std::string_view name;
  double oracle::Sample::*member;
};
constexpr Figure kFigures[] = {
    {"mean_s", &oracle::Sample::mean_s},       {"median_s", &oracle::Sample::median_s},
    {"min_s", &oracle::Sample::min_s},         {"p10_s", &oracle::Sample::p10_s},
    {"p90_s", &oracle::Sample::p90_s},         {"power_w", &oracle::Sample::power_w},
    {"processes", &oracle::Sample::processes}, {"sm_clock_mhz", &oracle::Sample::sm_clock_mhz},
    {"std_s", &oracle::Sample::std_s},         {"temperature_c", &oracle::Sample::temperature_c}};

}  // namespace dooly::store
