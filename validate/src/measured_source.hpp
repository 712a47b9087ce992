#pragma once

#include "validate/traffic.hpp"
#include "workload/request_source.hpp"

#include <string>
#include <vector>

namespace dooly::validate {

/// Measured requests as a stream for the simulation. Tickets, ids and rows are the requests' places in the list.
class MeasuredSource final : public workload::RequestSource {
 public:
  explicit MeasuredSource(const Traffic& traffic);

  double next_arrival_s() override;
  void take(workload::Request& into) override;
  void finished(workload::Ticket ticket, double client_time_s, workload::Outcome outcome) override;
  bool exhausted() override { return next_ == traffic_.requests.size(); }
  std::span<const std::string> classes() const override { return classes_; }
  std::uint64_t expected_requests() const override { return traffic_.requests.size(); }
  workload::TraceColumns columns() const override { return {}; }
  std::vector<workload::InputFile> inputs() const override { return {}; }

 private:
  const Traffic& traffic_;
  std::vector<std::string> classes_{"default"};
  std::size_t next_ = 0;
  std::vector<double> free_since_s_;  ///< clients that wait for their next request; earliest last
};

}  // namespace dooly::validate
