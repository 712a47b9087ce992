#include "measured_source.hpp"

#include <algorithm>
#include <functional>

namespace dooly::validate {

MeasuredSource::MeasuredSource(const Traffic& traffic) : traffic_(traffic) {
  for (std::size_t i = 0; i < std::min<std::size_t>(traffic.clients, traffic.requests.size()); ++i)
    free_since_s_.push_back(traffic.requests[i].sent_s);
  std::sort(free_since_s_.begin(), free_since_s_.end(), std::greater<>());
}

double MeasuredSource::next_arrival_s() {
  if (exhausted()) return workload::kNever;
  if (traffic_.clients == 0) return traffic_.requests[next_].sent_s;
  return free_since_s_.empty() ? workload::kNever : free_since_s_.back();
}

void MeasuredSource::take(workload::Request& into) {
  const MeasuredRequest& request = traffic_.requests[next_];
  const double arrival_s = next_arrival_s();
  replica::ContentPath content = std::move(into.content);
  into = {};
  into.content = std::move(content);
  into.content.clear();
  into.id = next_;
  into.arrival_s = arrival_s;
  into.prompt_tokens = request.prompt;
  into.output_tokens = request.output;
  if (request.prefix_tokens > 0)
    into.content.push_back({.key = replica::chain_key(0, 0, request.prefix_group, 0),
                            .end_token = std::min(request.prefix_tokens, request.prompt)});
  std::uint64_t key = 0;
  for (std::uint32_t i = 0; i < request.blocks.size(); ++i) {
    const std::uint32_t begin = i * traffic_.block_tokens;
    if (begin + traffic_.block_tokens > request.prompt) break;
    key = replica::chain_key(key, begin, request.blocks[i], 0);
    into.content.push_back({.key = key, .end_token = begin + traffic_.block_tokens});
  }
  if (traffic_.clients > 0) {
    into.ticket = workload::Ticket{next_};
    free_since_s_.pop_back();
  }
  ++next_;
}

void MeasuredSource::finished(workload::Ticket, double client_time_s, workload::Outcome) {
  const auto place = std::lower_bound(free_since_s_.begin(), free_since_s_.end(), client_time_s, std::greater<>());
  free_since_s_.insert(place, client_time_s);
}

}  // namespace dooly::validate
