#pragma once

#include "workload/request_source.hpp"
#include "workload/workload_error.hpp"

#include <cstdint>

namespace dooly::workload {

/// Notices when requests that are answered the moment they are sent would never end: clients that do not think, bounded
/// by a duration alone.
class InstantService {
 public:
  void check(const Request& request) {
    constexpr std::uint64_t kMost = 100'000'000;
    same_time_ = request.ticket != kNoTicket && request.arrival_s == last_s_ ? same_time_ + 1 : 0;
    last_s_ = request.arrival_s;
    if (same_time_ > kMost)
      throw WorkloadError("a closed loop without think time and number of requests ends only when it is run");
  }

 private:
  double last_s_ = -1;
  std::uint64_t same_time_ = 0;
};

}  // namespace dooly::workload
