#pragma once

#include "scenarios/distribution.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dooly::scenario {

struct PoissonArrivals {
  double rate_per_s = 1;
  bool operator==(const PoissonArrivals&) const = default;
};
/// Gamma-distributed gaps of mean 1/rate and coefficient of variation `cv` (cv 1 is Poisson).
struct GammaArrivals {
  double rate_per_s = 1;
  double cv = 1;
  bool operator==(const GammaArrivals&) const = default;
};
/// Equal gaps of 1/rate; the first request comes at time 0.
struct ConstantArrivals {
  double rate_per_s = 1;
  bool operator==(const ConstantArrivals&) const = default;
};
/// `size` requests at once; bursts come as a Poisson process of rate rate/size, so that `rate_per_s` is the mean rate.
struct BurstArrivals {
  double rate_per_s = 1;
  std::uint64_t size = 1;
  bool operator==(const BurstArrivals&) const = default;
};
/// `concurrency` clients; each sends, waits for its answer, thinks, sends again. All start at time 0.
struct ClosedLoopArrivals {
  std::uint64_t concurrency = 1;
  Distribution think_time_s = Fixed{0};
  bool operator==(const ClosedLoopArrivals&) const = default;
};
/// Times read from a file: one number of seconds a line, or CSV with a header whose column `arrival_s` is read. Not
/// descending; fewer times than requests end the workload early.
struct ReplayArrivals {
  std::filesystem::path path;  ///< absolute
  bool operator==(const ReplayArrivals&) const = default;
};
/// Everything at time 0.
struct AtOnceArrivals {
  bool operator==(const AtOnceArrivals&) const = default;
};

/// When requests (of a sessions workload: first turns) arrive. Rates are in requests (sessions) per second.
struct Arrivals {
  using Poisson = PoissonArrivals;
  using Gamma = GammaArrivals;
  using Constant = ConstantArrivals;
  using Bursts = BurstArrivals;
  using ClosedLoop = ClosedLoopArrivals;
  using Replay = ReplayArrivals;
  using AtOnce = AtOnceArrivals;
  std::variant<Poisson, Gamma, Constant, Bursts, ClosedLoop, Replay, AtOnce> process;
  bool operator==(const Arrivals&) const = default;
};

/// A share of the requests begins with one of `groups` common prefixes (each equally likely) of `tokens` tokens,
/// counted inside the prompt length; a prompt not longer than that is all prefix.
struct PrefixGroups {
  std::uint64_t groups = 1;
  std::uint64_t tokens = 1;
  double share = 1;  ///< 0 to 1
  bool operator==(const PrefixGroups&) const = default;
};

/// Requests read from a file (or, format `servegen`, drawn from a file of client statistics).
struct TraceSpec {
  enum class TooLong { kReject, kTruncate };
  /// azure mooncake burstgpt vidur llmservingsim sharegpt apex vllm-bench servegen dooly
  std::string format;
  std::filesystem::path path;  ///< absolute; exists. servegen: the client rates
  /// servegen only (then set): file of length distributions per client and window.
  std::optional<std::filesystem::path> lengths_path;
  double speedup = 1;                        ///< divides every gap
  std::optional<std::uint64_t> limit;  ///< at most so many rows of the file (servegen: requests), before looping
  std::uint64_t loop = 1;  ///< the whole trace so many times, one pass after another
  TooLong too_long = TooLong::kReject;  ///< a request beyond max_model_len: reject it, or cut its prompt
  /// Replaces the file's own times. Always set for a file without times (format sharegpt).
  std::optional<Arrivals> arrivals;
  std::optional<double> duration_s;  ///< arrivals stop there
  bool operator==(const TraceSpec&) const = default;
};

/// Independent requests. At least one of `requests` and `duration_s` is set; whichever comes first ends the arrivals.
struct SyntheticSpec {
  std::optional<std::uint64_t> requests;
  std::optional<double> duration_s;
  Arrivals arrivals;
  Distribution prompt_tokens = Fixed{1};  ///< at least 1
  Distribution output_tokens = Fixed{1};  ///< at least 1
  std::optional<PrefixGroups> prefix;
  bool operator==(const SyntheticSpec&) const = default;
};

/// Conversations. A turn's prompt is the whole conversation so far plus its new text, and it arrives `think_time` after
/// the previous answer. At least one of `sessions` and `duration_s` is set; the latter stops new sessions.
struct SessionsSpec {
  std::optional<std::uint64_t> sessions;
  std::optional<double> duration_s;
  Arrivals arrivals;  ///< of the sessions
  Distribution turns = Fixed{1};  ///< per session, at least 1
  Distribution think_time_s = Fixed{0};
  Distribution first_prompt = Fixed{1};  ///< tokens of the first turn's prompt
  Distribution turn_prompt = Fixed{1};  ///< new tokens of each later turn's prompt
  Distribution output_tokens = Fixed{1};
  std::optional<PrefixGroups> prefix;  ///< of first prompts
  bool operator==(const SessionsSpec&) const = default;
};

/// Limits a completed request must meet to count as good. Unset: any value is good. Client's clock.
struct Slo {
  std::optional<double> ttft_s;
  std::optional<double> tpot_s;
  std::optional<double> e2e_s;
  bool is_empty() const { return !ttft_s && !tpot_s && !e2e_s; }
  bool operator==(const Slo&) const = default;
};

/// One stream of requests; a scenario merges one or more.
struct WorkloadSpec {
  std::string name;  ///< unique; "default" where the file has a single unnamed one. Names the random streams
  /// Set: the class of every request. Unset: the class a trace's row carries, else `name`.
  std::optional<std::string> class_name;
  std::int64_t priority = 0;  ///< for rows without their own; smaller is more urgent (as vLLM)
  std::variant<TraceSpec, SyntheticSpec, SessionsSpec> source;
  std::optional<Slo> slo;  ///< of all classes of this workload but those in `class_slo`
  std::map<std::string, Slo> class_slo;
  /// Class of a request whose row names none.
  const std::string& default_class() const { return class_name ? *class_name : name; }
  bool operator==(const WorkloadSpec&) const = default;
};

}  // namespace dooly::scenario
