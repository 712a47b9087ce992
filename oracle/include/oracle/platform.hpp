#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/cuda_graphs.hpp"
#include "oracle/step_cost.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dooly::oracle {

struct ModelConfig;
struct StepPlan;

/// What of a model decides how long the host is busy with a step.
struct LayerCounts {
  std::uint32_t dense = 0, moe = 0;
  std::uint32_t dense_with_qk_norm = 0;  ///< of the dense ones, those that normalise queries and keys
  std::uint32_t parallel = 0;   ///< layers whose attention and MLP add to the same input (Command-R)
  std::uint32_t kv_groups = 1;  ///< groups of layers whose KV blocks the scheduler allocates apart
};
LayerCounts layer_counts(const ModelConfig& model);
LayerCounts layer_counts(const StepPlan& plan);

/// Time to launch one forward pass: fixed + per_layer × dense layers + per_qk_norm × those of them with norms of
/// queries and keys + per_moe_layer × layers of experts + per_parallel_layer × parallel ones, seconds; and more by
/// the root of the requests in the batch.
struct LaunchTerm {
  double fixed = 0;
  double per_layer = 0;
  double per_moe_layer = 0;
  double per_qk_norm = 0;
  double per_parallel_layer = 0;
  double per_root_request = 0, per_root_moe_request = 0;  ///< of models without experts, and with
  double seconds(const LayerCounts& layers) const {
    return fixed + per_layer * layers.dense + per_moe_layer * layers.moe + per_qk_norm * layers.dense_with_qk_norm +
           per_parallel_layer * layers.parallel;
  }
  double root_request_seconds(const LayerCounts& layers) const {
    return layers.moe > 0 ? per_root_moe_request : per_root_request;
  }
};

/// What the power cap does to a device. Its regime moves between cool (0) and sustained (1) towards the drive of the
/// step that runs, `power_computing` × share of the time that the matrix units are busy + `power_decode_attention` ×
/// share that decodes attend − `power_free`, held within 0 … 1.
struct ClockTerms {
  double slowdown = 0;       ///< seconds more for each second of computing at the sustained clock
  double time_constant = 0;  ///< seconds in which a device under load gets there; 0: it stays cool
  double cooling_time_constant = 0;      ///< seconds in which it cools; 0: as it warms
  double slowdown_memory = 0;            ///< as `slowdown`, of what reading bounds
  double slowdown_decode_attention = 0;  ///< as `slowdown`, of attention of decodes
  double power_computing = 0, power_decode_attention = 0, power_free = 0;  ///< the first 0: 1
  /// How often in a row a profile's kernels ran while they were timed, warming the device by themselves.
  double profile_repeats = 0;

  /// Regime in which a kernel of `seconds` was timed.
  double profile_warmth(double seconds) const {
    const double ran = profile_repeats * seconds;
    return ran > 0 ? ran / (ran + time_constant) : 0;
  }
  /// Time on a cool device of what took `seconds` in a profile and takes `slowdown_here` longer at the sustained clock.
  double cool_seconds(double seconds, double slowdown_here) const {
    return seconds / (1 + slowdown_here * profile_warmth(seconds));
  }
  double drive(double computing_share, double decode_attention_share) const {
    const double over = (power_computing > 0 ? power_computing : 1) * computing_share +
                        power_decode_attention * decode_attention_share - power_free;
    return over > 0 ? (over < 1 ? over : 1) : 0;
  }
  /// Mean regime during a step of `seconds` that starts at `sustained`: long steps warm the device they run on.
  double mean_during(double sustained, double drive_here, double seconds) const {
    if (!(time_constant > 0) || drive_here <= sustained) return sustained;
    return sustained + (drive_here - sustained) * seconds / (2 * time_constant + seconds);
  }
};

/// Host times of a serving machine, and its devices' clock, seconds. Every number has a name in scenarios
/// (`platform_terms()`).
struct Platform {
  std::string name = "none";
  double turn = 0;  ///< of the engine's loop besides
  double schedule = 0, schedule_per_request = 0;
  double update = 0, update_per_request = 0;
  double sample = 0, sample_per_request = 0;
  double sample_moe = 0, sample_moe_per_root_request = 0;  ///< for models with experts in their place, if not 0
  double schedule_per_request_group = 0, schedule_per_prompt_group = 0;  ///< more for each KV group beyond the first
  double schedule_prefill = 0, sample_prefill = 0, update_prefill = 0;  ///< more in steps with a part of a prompt
  LaunchTerm launch_full, launch_piecewise, launch_none;
  double launch_full_after_prefill = 0;  ///< more where the step before had a part of a prompt
  LaunchTerm lead_full, lead_piecewise, lead_none;
  LaunchTerm gaps_full, gaps_piecewise, gaps_none;
  double gaps_prefill = 0;  ///< more in steps with a part of a prompt, whatever their mode
  double launch_spread = 0;  ///< standard deviation ÷ launch, of passes that are not one graph
  double delivery = 0, delivery_per_request = 0;
  double delivery_single = 0;  ///< delivery of a step that yields one token
  double input = 0, input_per_1000_tokens = 0;
  double hashing_per_1000_tokens = 0;
  ClockTerms clock;
};

/// One number of a platform: its key and what it means.
struct PlatformTerm {
  std::string_view key;
  std::string_view meaning;
};

/// Keys that `set_platform_term` knows, in the order in which an engine spends the times.
std::span<const PlatformTerm> platform_terms();

/// Throws OracleError for an unknown key (lists the known ones) or a value that is negative or not finite.
void set_platform_term(Platform& platform, std::string_view key, double seconds);
double platform_term(const Platform& platform, std::string_view key);

struct ShippedPlatform {
  std::string_view name;
  std::string_view meaning;
};

/// `bare-metal`, `bare-metal-tp`, `built-in-engine`, `h200-vm`, `none`.
std::span<const ShippedPlatform> shipped_platforms();

/// Throws OracleError that lists the known names.
Platform find_platform(std::string_view name);

/// Name of the platform that ships for a `Gpu::name`: `h200-vm` for H200, `built-in-engine` for CPU, else `bare-metal`.
std::string_view default_platform(std::string_view gpu_name);

/// A platform bound to one model: what `do_cost` and `request_cost` of an oracle answer. O(1), allocates nothing.
class HostTimes {
 public:
  HostTimes() = default;  ///< all zero
  HostTimes(const Platform& platform, const LayerCounts& layers);
  HostTimes(const Platform& platform, std::uint32_t dense_layers, std::uint32_t moe_layers)
      : HostTimes(platform, LayerCounts{dense_layers, moe_layers}) {}

  /// Inline: part of every answer in the simulator's innermost loop.
  void step(const BatchShape& shape, GraphMode mode, HostTime& host) const {
    const double requests = shape.requests();
    host.turn = platform_.turn;
    host.schedule = platform_.schedule + schedule_per_request_ * requests;
    host.update = platform_.update + platform_.update_per_request * requests;
    if (shape.empty()) return;
    if (!shape.prefills.empty()) {
      host.schedule += platform_.schedule_prefill + schedule_per_prompt_ * static_cast<double>(shape.prefills.size());
      host.update += platform_.update_prefill;
    }
    const Launch& launch = launch_[static_cast<int>(mode)];
    const double root = std::sqrt(requests);
    host.launch = launch.launch + launch.launch_per_root * root;
    host.launch_lead = launch.lead + launch.lead_per_root * root;
    host.launch_spread = launch.spread;
    if (mode == GraphMode::kFull) host.after_prefill = platform_.launch_full_after_prefill;
    host.sample = sample_ + sample_per_request_ * requests + sample_per_root_ * root;
    if (!shape.prefills.empty()) host.sample += platform_.sample_prefill;
    if (shape.logits_rows > 1) {
      host.delivery = platform_.delivery + platform_.delivery_per_request * shape.logits_rows;
    } else if (shape.logits_rows == 1) {
      host.delivery = platform_.delivery_single;
    }
  }
  /// What the device waits between the kernels of a step: part of its device time.
  double gaps(GraphMode mode, bool has_prefill) const {
    return launch_[static_cast<int>(mode)].gaps + (has_prefill ? platform_.gaps_prefill : 0);
  }
  RequestCost request(std::uint32_t prompt_tokens) const;

 private:
  struct Launch {
    double launch = 0;
    double lead = 0;
    double gaps = 0;
    double spread = 0;
    double launch_per_root = 0, lead_per_root = 0;
  };
  Launch launch_[3];  // by GraphMode
  double schedule_per_request_ = 0, schedule_per_prompt_ = 0, sample_ = 0, sample_per_request_ = 0,
         sample_per_root_ = 0;
  Platform platform_;
};

}  // namespace dooly::oracle
