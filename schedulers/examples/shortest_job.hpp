#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/policy.hpp"

#include <cstdint>
#include <optional>

/// Shortest remaining job first, within each priority. A job's length is what it still has to compute: the rest of its
/// prompt, and the rest of its output where the scenario grants that knowledge (`grant_output_lengths`). Waiting makes
/// a job shorter by `aging` tokens a second, so that long ones get their turn.
///
/// Looks at every running request when KV blocks are short: the longest gives way. A place is given up only with
/// `preempt`, and only to a request of a more urgent priority.
class ShortestJob final : public dooly::sdk::SchedulerPolicy {
 public:
  static constexpr dooly::sdk::OptionSpec kOptions[] = {
      {.name = "aging",
       .type = dooly::sdk::OptionType::kNumber,
       .fallback = "100",
       .min = 0,
       .max = 1e9,
       .help = "tokens by which a second of waiting shortens a job"},
      {.name = "window",
       .type = dooly::sdk::OptionType::kInteger,
       .fallback = "64",
       .min = 1,
       .max = 1e6,
       .help = "how many waiting requests are looked at, from the head of the queue"},
      {.name = "preempt",
       .type = dooly::sdk::OptionType::kBoolean,
       .fallback = "false",
       .help = "whether a waiting job takes the place of a running one of lower priority"}};

  explicit ShortestJob(const dooly::sdk::Options& options);
  void schedule(dooly::sdk::Plan& plan) override;

 private:
  /// Order of service: lower first.
  struct Rank {
    std::int32_t priority;
    double length;
    auto operator<=>(const Rank&) const = default;
  };
  Rank rank(const dooly::sdk::RequestView& request, double now_s) const;
  dooly::sdk::RequestView last_in_rank(const dooly::sdk::Plan& plan) const;
  std::optional<dooly::sdk::RequestView> first_in_rank(dooly::sdk::Plan& plan) const;
  void make_place(dooly::sdk::Plan& plan) const;
  bool serve_running(dooly::sdk::Plan& plan) const;
  void admit_waiting(dooly::sdk::Plan& plan) const;

  double aging_;
  std::int64_t window_;
  bool preempt_;
};
