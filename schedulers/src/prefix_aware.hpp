#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/router.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// The replica with the lowest cost in tokens, the lowest number among equals:
///
///   cost(r) = prompt - cache_weight * cached(r) + load_weight * tokens(r)
///
/// cached(r): tokens of the prompt in r's prefix cache; tokens(r): tokens that r's unfinished requests still need. With
/// both weights 1 a hit of n tokens weighs as much as a queue that is n tokens shorter. The default load_weight is
/// lower because most tokens that are still to come are output tokens, which a replica computes for many requests at a
/// time. load_weight 0 looks at the caches alone. Costs a look at every replica per request.
class PrefixAware final : public sdk::RouterPolicy {
 public:
  static constexpr sdk::OptionSpec kOptions[] = {{.name = "cache_weight",
                                                  .type = sdk::OptionType::kNumber,
                                                  .fallback = "1",
                                                  .min = 0,
                                                  .max = 1e6,
                                                  .help = "what a cached prompt token is worth"},
                                                 {.name = "load_weight",
                                                  .type = sdk::OptionType::kNumber,
                                                  .fallback = "0.1",
                                                  .min = 0,
                                                  .max = 1e6,
                                                  .help = "what a token that the replica still has to compute costs"}};

  explicit PrefixAware(const sdk::Options& options)
      : cache_weight_(options.number("cache_weight")),
        load_weight_(options.number("load_weight")) {}

  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView& request) override {
    std::uint32_t best = 0;
    double lowest = cost(view, request, 0);
    for (std::uint32_t replica = 1; replica < view.replicas(); ++replica) {
      const double its_cost = cost(view, request, replica);
      if (its_cost < lowest) {
        lowest = its_cost;
        best = replica;
      }
    }
    return best;
  }
  Needs needs() const override { return Needs::kCacheState; }

 private:
  double cost(const sdk::RouterView& view, const sdk::RequestView& request, std::uint32_t replica) const {
    return request.prompt - cache_weight_ * view.cached_prefix(replica) +
           load_weight_ * static_cast<double>(view.signal(replica).tokens);
  }

  double cache_weight_;
  double load_weight_;
};

}  // namespace dooly::schedulers
