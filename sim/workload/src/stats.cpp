#include "workload/stats.hpp"

#include "instant_service.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace dooly::workload {

void RunningMoments::add(double value) {
  ++count_;
  const double delta = value - mean_;
  mean_ += delta / static_cast<double>(count_);
  squares_ += delta * (value - mean_);
}

double RunningMoments::cv() const { return mean_ > 0 ? std::sqrt(variance()) / mean_ : 0; }

void LengthCounts::add(std::uint32_t value) {
  ++counts_[value];
  ++count_;
  sum_ += value;
}

double LengthCounts::mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

std::uint32_t LengthCounts::at_rank(std::uint64_t rank) const {
  for (const auto& [value, count] : counts_) {
    if (rank < count) return value;
    rank -= count;
  }
  return 0;
}

double LengthCounts::percentile(double p) const {
  if (count_ == 0) return 0;
  const double rank = p / 100 * static_cast<double>(count_ - 1);
  const auto below = static_cast<std::uint64_t>(rank);
  const double low = at_rank(below);
  const double high = at_rank(std::min(below + 1, count_ - 1));
  return low + (high - low) * (rank - static_cast<double>(below));
}

std::uint64_t LengthCounts::between(std::uint64_t low, std::uint64_t high) const {
  std::uint64_t sum = 0;
  for (auto at = counts_.lower_bound(static_cast<std::uint32_t>(low)); at != counts_.end() && at->first < high; ++at)
    sum += at->second;
  return sum;
}

void WorkloadStats::add(const Request& request) {
  if (requests() == 0) {
    first_s_ = request.arrival_s;
  } else {
    gaps_.add(request.arrival_s - last_s_);
  }
  last_s_ = request.arrival_s;
  prompts_.add(request.prompt_tokens);
  outputs_.add(request.output_tokens);
  if (by_class_.size() <= request.request_class) by_class_.resize(request.request_class + 1U);
  ++by_class_[request.request_class];
  truncated_ += request.truncated ? 1 : 0;
  const std::uint64_t shared = shared_tokens(request);
  shared_tokens_ += shared;
  sharing_requests_ += shared > 0 ? 1 : 0;
}

std::uint64_t WorkloadStats::shared_tokens(const Request& request) {
  std::uint64_t shared = 0;
  bool leading = true;
  for (const replica::ContentSegment& segment : request.content) {
    if (segment.end_token == replica::ContentSegment::kOpenEnd) {
      ++session_requests_;
      std::uint32_t& known = session_tokens_[request.session];
      if (leading && known > shared) shared = std::min(known, request.prompt_tokens);
      known = request.prompt_tokens + request.output_tokens;
      break;
    }
    const bool is_new = seen_.insert(segment.key).second;
    leading = leading && !is_new;
    if (leading) shared = segment.end_token;
  }
  return shared;
}

double WorkloadStats::shared_prompt_share() const {
  const double all = prompts_.mean() * static_cast<double>(requests());
  return all > 0 ? static_cast<double>(shared_tokens_) / all : 0;
}

namespace {

void print_lengths(std::ostream& out, const char* name, const LengthCounts& lengths) {
  fmt::print(out, "{:<14}{:>12.1f}", name, lengths.mean());
  for (const double p : {0.0, 50.0, 90.0, 95.0, 99.0, 100.0}) fmt::print(out, "{:>12.6g}", lengths.percentile(p));
  out << '\n';
}

void print_histogram(std::ostream& out, const char* name, const LengthCounts& lengths) {
  constexpr std::size_t kWidth = 50;
  std::uint64_t most = 1;
  const int first = std::bit_width(static_cast<std::uint32_t>(lengths.percentile(0)));
  const int last = std::bit_width(static_cast<std::uint32_t>(lengths.percentile(100)));
  for (int bits = first; bits <= last; ++bits) most = std::max(most, lengths.between(1ULL << (bits - 1), 1ULL << bits));
  fmt::print(out, "\n{}\n", name);
  for (int bits = first; bits <= last; ++bits) {
    const std::uint64_t low = 1ULL << (bits - 1), high = 1ULL << bits;
    const std::uint64_t count = lengths.between(low, high);
    const std::size_t stars = (count * kWidth + most - 1) / most;
    fmt::print(out, "{:>10} - {:<10}{:>10}{}{}\n", low, high - 1, count, count > 0 ? "  " : "",
               std::string(stars, '#'));
  }
}

}  // namespace

void WorkloadStats::print(std::ostream& out, std::span<const std::string> classes) const {
  const double span = last_s_ - first_s_;
  fmt::print(out, "requests      {}\n", requests());
  for (std::size_t i = 0; i < by_class_.size() && classes.size() > 1; ++i) {
    if (by_class_[i] > 0) fmt::print(out, "  class {:<12} {}\n", classes[i], by_class_[i]);
  }
  if (truncated_ > 0) fmt::print(out, "  prompts cut to fit  {}\n", truncated_);
  fmt::print(out, "arrivals      {:.6g} s to {:.6g} s", first_s_, last_s_);
  if (span > 0) fmt::print(out, ", {:.6g} requests/s", static_cast<double>(requests() - 1) / span);
  fmt::print(out, "\nburstiness    {:.3f} (standard deviation of the gaps / mean gap; Poisson: 1)\n", gaps_.cv());
  fmt::print(out, "\n{:<14}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "tokens", "mean", "min", "p50", "p90", "p95",
             "p99", "max");
  print_lengths(out, "prompt", prompts_);
  print_lengths(out, "output", outputs_);
  fmt::print(out, "\nprefix sharing  {:.1f} % of the prompt tokens, in {:.1f} % of the requests, were seen before\n",
             100 * shared_prompt_share(),
             requests() > 0 ? 100.0 * static_cast<double>(sharing_requests_) / static_cast<double>(requests()) : 0.0);
  if (!session_tokens_.empty())
    fmt::print(out, "sessions        {}, {:.2f} turns each\n", session_tokens_.size(),
               static_cast<double>(session_requests_) / static_cast<double>(session_tokens_.size()));
  if (requests() == 0) return;
  print_histogram(out, "prompt tokens", prompts_);
  print_histogram(out, "output tokens", outputs_);
}

void print_stats(RequestSource& source, std::ostream& out) {
  WorkloadStats stats;
  InstantService guard;
  Request request;
  while (source.next_arrival_s() < kNever) {
    source.take(request);
    guard.check(request);
    stats.add(request);
    if (request.ticket != kNoTicket) source.finished(request.ticket, request.arrival_s, Outcome::kCompleted);
  }
  stats.print(out, source.classes());
}

}  // namespace dooly::workload
