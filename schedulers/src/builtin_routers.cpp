#include "schedulers/builtin.hpp"

#include "least_loaded.hpp"
#include "power_of_two.hpp"
#include "prefix_aware.hpp"
#include "random_router.hpp"
#include "round_robin.hpp"

namespace dooly::schedulers {

std::span<const sdk::RouterEntry> builtin_routers() {
  static constexpr sdk::RouterEntry kRouters[] = {
      {.name = "round_robin", .help = "one replica after the other", .create = sdk::create_router<RoundRobin>},
      {.name = "random", .help = "any replica, each as likely", .create = sdk::create_router<RandomRouter>},
      {.name = "least_requests", .help = "fewest unfinished requests", .create = sdk::create_router<LeastRequests>},
      {.name = "least_tokens",
       .help = "fewest tokens of unfinished requests (prompts, and outputs where granted)",
       .create = sdk::create_router<LeastTokens>},
      {.name = "power_of_two",
       .help = "the less loaded of two replicas drawn at random",
       .options = PowerOfTwo::kOptions,
       .create = sdk::create_router<PowerOfTwo>},
      {.name = "prefix_aware",
       .help = "most of the prompt cached, weighed against load",
       .options = PrefixAware::kOptions,
       .create = sdk::create_router<PrefixAware>}};
  return kRouters;
}

}  // namespace dooly::schedulers
