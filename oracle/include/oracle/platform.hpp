#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/cuda_graphs.hpp"
#include "oracle/step_cost.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dooly::oracle {

/// Time to launch one forward pass: fixed + per_layer × dense layers + per_moe_layer × layers of experts, seconds.
struct LaunchTerm {
  double fixed = 0;
  double per_layer = 0;
  double per_moe_layer = 0;
  double seconds(std::uint32_t dense_layers, std::uint32_t moe_layers) const {
    return fixed + per_layer * dense_layers + per_moe_layer * moe_layers;
  }
};

/// What the power cap does to computing.
struct ClockTerms {
  double slowdown = 0;       ///< seconds more for each second of computing at the sustained clock
  double time_constant = 0;  ///< seconds in which a device under load gets there; 0: it stays cool
};

/// Host times of a serving machine, and its devices' clock, seconds. Every number has a name in scenarios
/// (`platform_terms()`).
struct Platform {
  std::string name = "none";
  double schedule = 0, schedule_per_request = 0;
  double update = 0, update_per_request = 0;
  double sample = 0, sample_per_request = 0;
  LaunchTerm launch_full, launch_piecewise, launch_none;
  LaunchTerm lead_full, lead_piecewise, lead_none;
  LaunchTerm gaps_full, gaps_piecewise, gaps_none;
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

/// `none`, `bare-metal`, `h200-vm`.
std::span<const ShippedPlatform> shipped_platforms();

/// Throws OracleError that lists the known names.
Platform find_platform(std::string_view name);

/// Name of the platform that ships for a GPU (`Gpu::name`): `h200-vm` for the H200, else `bare-metal`.
std::string_view default_platform(std::string_view gpu_name);

/// A platform bound to one model: what `do_cost` and `request_cost` of an oracle answer. O(1), allocates nothing.
class HostTimes {
 public:
  HostTimes() = default;  ///< all zero
  HostTimes(const Platform& platform, std::uint32_t dense_layers, std::uint32_t moe_layers);

  /// Inline: part of every answer in the simulator's innermost loop.
  void step(const BatchShape& shape, GraphMode mode, HostTime& host) const {
    const double requests = shape.requests();
    host.schedule = platform_.schedule + platform_.schedule_per_request * requests;
    host.update = platform_.update + platform_.update_per_request * requests;
    if (shape.empty()) return;
    const Launch& launch = launch_[static_cast<int>(mode)];
    host.launch = launch.launch;
    host.launch_lead = launch.lead;
    host.sample = platform_.sample + platform_.sample_per_request * requests;
    if (shape.logits_rows > 1) {
      host.delivery = platform_.delivery + platform_.delivery_per_request * shape.logits_rows;
    } else if (shape.logits_rows == 1) {
      host.delivery = platform_.delivery_single;
    }
  }
  /// What the device waits between the kernels of a step: part of its device time.
  double gaps(GraphMode mode) const { return launch_[static_cast<int>(mode)].gaps; }
  RequestCost request(std::uint32_t prompt_tokens) const;

 private:
  struct Launch {
    double launch = 0;
    double lead = 0;
    double gaps = 0;
  };
  Launch launch_[3];  // by GraphMode
  Platform platform_;
};

}  // namespace dooly::oracle
