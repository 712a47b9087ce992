#pragma once

#include "profiling_measure/measurer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A device with a known law: matrix products in whole tiles and waves of them, memory-bound rows, attention whose
/// decodes fill the device only when there are enough, prefill and decode that overlap in part; with noise. Each point
/// costs time on a clock of its own.
class SyntheticMeasurer : public Measurer {
 public:
  explicit SyntheticMeasurer(double noise = 0.004, std::uint64_t seed = 1) : noise_(noise), random_(seed) {}
  oracle::Environment environment() override;
  bool supports(const oracle::OperatorKey& key, std::string& why) override;
  oracle::Sample measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                         oracle::ClockRegime regime) override;

  /// Without noise.
  /// A table look-up runs one kernel for up to 16 rows, a faster one for more.
  static double law(const oracle::OperatorKey& key, const oracle::SamplePoint& point, oracle::ClockRegime regime);
  bool renew() override;
  double now() const { return now_; }
  std::uint64_t measured() const { return measured_; }

  std::map<std::string, std::string> libraries;  ///< of the environment
  std::string kernel_family;                     ///< of all samples
  std::vector<double> processes;  ///< what each adds to every time, in seconds; empty: processes cannot be renewed

  /// Called before each point: may change the sample's status (then nothing is timed), throw, or end the process.
  std::function<void(const oracle::OperatorKey&, oracle::Sample&)> before;

 private:
  double noise_;
  std::mt19937_64 random_;
  double now_ = 0;
  std::uint64_t measured_ = 0;
  std::size_t process_ = 0;
};

}  // namespace dooly::profiling
