#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/router.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// The less loaded of two different replicas drawn at random; the first drawn among equals, so that idle replicas are
/// equally likely. Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001.
class PowerOfTwo final : public sdk::RouterPolicy {
 public:
  static constexpr sdk::OptionSpec kOptions[] = {{.name = "load",
                                                  .type = sdk::OptionType::kText,
                                                  .fallback = "requests",
                                                  .allowed = "requests|tokens",
                                                  .help = "what is compared: unfinished requests, or their tokens"}};

  explicit PowerOfTwo(const sdk::Options& options) : by_tokens_(options.text("load") == "tokens") {}

  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView&) override {
    const std::uint32_t replicas = view.replicas();
    if (replicas == 1) return 0;
    const std::uint32_t first = view.random_below(replicas);
    std::uint32_t second = view.random_below(replicas - 1);
    if (second >= first) ++second;  // uniform over the others
    return load(view, second) < load(view, first) ? second : first;
  }
  Needs needs() const override { return Needs::kCounts; }

 private:
  std::uint64_t load(const sdk::RouterView& view, std::uint32_t replica) const {
    const sdk::ReplicaSignal signal = view.signal(replica);
    return by_tokens_ ? signal.tokens : signal.requests;
  }

  bool by_tokens_;
};

}  // namespace dooly::schedulers
