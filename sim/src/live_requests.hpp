#pragma once

#include "replica_core/replica_request.hpp"
#include "results/finished_request.hpp"
#include "workload/request_source.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace dooly::sim {

/// A request between its arrival and its end.
struct LiveRequest {
  enum class Stage : std::uint8_t { kMixed, kPrefill, kDecode };
  workload::Request request;
  results::FinishedRequest record;
  std::uint32_t replica = 0;  ///< that has it now, counted over all pools
  Stage stage = Stage::kMixed;
  bool live = false;
};

/// The requests in flight by tag; places are reused, so memory follows what is in flight.
class LiveRequests {
 public:
  replica::RequestTag acquire() {
    replica::RequestTag tag;
    if (free_.empty()) {
      tag = static_cast<replica::RequestTag>(requests_.size());
      requests_.emplace_back();
    } else {
      tag = free_.back();
      free_.pop_back();
    }
    LiveRequest& request = requests_[tag];
    request.record = {};
    request.live = true;
    ++count_;
    return tag;
  }
  void release(replica::RequestTag tag) {
    requests_[tag].live = false;
    free_.push_back(tag);
    --count_;
  }
  LiveRequest& operator[](replica::RequestTag tag) { return requests_[tag]; }
  std::size_t count() const { return count_; }
  /// Visits all in the order of their arrival.
  template <class Visit>
  void for_each_by_row(Visit&& visit);

 private:
  std::deque<LiveRequest> requests_;  ///< addresses stay
  std::vector<replica::RequestTag> free_;
  std::size_t count_ = 0;
};

template <class Visit>
void LiveRequests::for_each_by_row(Visit&& visit) {
  std::vector<std::pair<std::uint64_t, replica::RequestTag>> rows;
  for (std::size_t tag = 0; tag < requests_.size(); ++tag)
    if (requests_[tag].live) rows.emplace_back(requests_[tag].record.row, static_cast<replica::RequestTag>(tag));
  std::sort(rows.begin(), rows.end());
  for (const auto& [row, tag] : rows) visit(tag, requests_[tag]);
}

}  // namespace dooly::sim
