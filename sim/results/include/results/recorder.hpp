#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/finished_request.hpp"
#include "results/summary.hpp"

namespace dooly::results {

class QueueTrend;
class RequestsCsv;

/// Collects what happened to requests and makes the figures of a run. Keeps 32 bytes a completed request (up to two
/// million of a class), nothing else grows. What it is told may come in any order of requests: the figures do not
/// depend on it. Not thread-safe.
class Recorder {
 public:
  /// `slo_of_class` is asked once per class, when it first appears. `rows`, if not null, gets every finished request
  /// and must outlive the recorder.
  explicit Recorder(std::function<SloLimits(std::uint16_t)> slo_of_class, RequestsCsv* rows = nullptr);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Number of a reason for not completing. Meant for a fixed set of sentences: each different text is kept and listed
  /// in the summary, so it must not hold figures of single requests.
  std::uint16_t reason(std::string_view text);

  /// Once for every request, when it ends or, at the end of the run, as unfinished. Throws std::logic_error if a
  /// completed request's times run back.
  void finished(const FinishedRequest& request);
  /// `count` gaps of `gap_s` between consecutive tokens of one class.
  void gaps(std::uint16_t request_class, double gap_s, std::uint64_t count);
  /// The same for several gaps, `count` of each.
  void gap_run(std::uint16_t request_class, std::span<const double> gaps_s, std::uint64_t count);

  std::uint64_t completed() const { return completed_; }  ///< for progress displays
  std::uint64_t ended() const { return ended_; }

  /// Writes the last rows and makes the figures. Call once. Throws std::logic_error if the requests do not add up.
  Summary finish(RunTotals totals);

 private:
  struct ClassRecord;
  ClassRecord& record_of(std::uint16_t request_class) {
    if (request_class < classes_.size() && classes_[request_class]) [[likely]]
      return *classes_[request_class];
    return add_class(request_class);
  }
  ClassRecord& add_class(std::uint16_t request_class);
  void complete(ClassRecord& record, const FinishedRequest& request);
  RequestFigures figures_of(const std::vector<const ClassRecord*>& records, double span_s) const;

  std::function<SloLimits(std::uint16_t)> slo_of_class_;
  RequestsCsv* rows_;
  std::vector<std::unique_ptr<ClassRecord>> classes_;
  std::vector<std::string> reasons_;
  std::map<std::string, std::uint16_t, std::less<>> reason_numbers_;
  std::uint64_t completed_ = 0;
  std::uint64_t ended_ = 0;
  double first_arrival_s_;
  double last_token_s_ = 0;
  std::unique_ptr<QueueTrend> trend_;
};

}  // namespace dooly::results
