#pragma once

#include "profiling_comm/rank_group.hpp"

#include <functional>

namespace dooly::profiling {

/// Answers by a law, in this process.
class ScriptedGroup final : public RankGroup {
 public:
  using Law = std::function<double(const CommWork&)>;
  explicit ScriptedGroup(Law law) : law_(std::move(law)) {}
  bool prepare(const CommWork& work) override {
    work_ = work;
    law_(work);  // may throw
    return captures;
  }
  std::vector<double> run(std::uint32_t repetitions, DeviceReading& reading) override {
    reading.sm_clock_mhz = 1980;
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i < repetitions; ++i) seconds.push_back(law_(work_));
    return seconds;
  }
  bool captures = true;
  const CommWork& work() const { return work_; }

 private:
  Law law_;
  CommWork work_;
};

}  // namespace dooly::profiling
