#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dooly::oracle {

/// State of the device while a sample was taken.
enum class ClockRegime : std::uint8_t { kCool, kSustained, kUnknown };

/// Outcome of measuring one point; failures are results too.
enum class SampleStatus : std::uint8_t { kOk, kOutOfMemory, kLaunchFailed, kUnsupported, kSuspect };

/// Request-side coordinates of a sample, by operator kind; unused entries are 0. Fixed width, so that one signature's
/// samples sort in one scan.
///   token operators:  {tokens}
///   logits operators: {rows}
///   attention:        {prefills, query each, context each, decodes, context of most, long decodes, their context};
///                     `decodes` counts the long ones too; a context is what lay in the KV cache before the step
///   moe:              {tokens, activated experts (0: unknown), routing (0 balanced, 1 power law 1.01, 2 power
///   law 1.2)} collectives:      {bytes, ranks}
using SamplePoint = std::array<std::uint64_t, 7>;

/// No run of one operator takes longer than a day: such figures are no times.
constexpr double kLongestRunS = 86400;

/// One measured point. Times are seconds.
struct Sample {
  SamplePoint point{};
  ClockRegime regime = ClockRegime::kUnknown;
  SampleStatus status = SampleStatus::kOk;
  std::uint32_t count = 0;        ///< repetitions behind the figures
  double median_s = 0, mean_s = 0, std_s = 0, min_s = 0, p10_s = 0, p90_s = 0;
  /// A whole number: processes that measured it, if several did; their figures are averaged. 0: one, or not known.
  double processes = 0;
  std::string kernel_family;      ///< from the kernels that ran; empty: not known
  std::vector<std::string> kernels;  ///< raw symbols
  double sm_clock_mhz = 0, power_w = 0, temperature_c = 0;  ///< 0: not known
  std::string note;               ///< error text, or why suspect
  bool operator==(const Sample&) const = default;
};

}  // namespace dooly::oracle
