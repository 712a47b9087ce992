#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/router.hpp"

#include <algorithm>
#include <cstdint>

/// Keeps short prompts away from long ones: prompts of up to `threshold` tokens go to the first `share` of the
/// replicas, longer ones to the rest; within each part to the fewest tokens, the lowest number among equals.
class LengthSplit final : public dooly::sdk::RouterPolicy {
 public:
  static constexpr dooly::sdk::OptionSpec kOptions[] = {
      {.name = "threshold",
       .type = dooly::sdk::OptionType::kInteger,
       .fallback = "1024",
       .min = 1,
       .help = "longest prompt, in tokens, that counts as short"},
      {.name = "share",
       .type = dooly::sdk::OptionType::kNumber,
       .fallback = "0.5",
       .min = 0,
       .max = 1,
       .help = "part of the replicas that serves short prompts; each part has at least one"}};

  explicit LengthSplit(const dooly::sdk::Options& options)
      : threshold_(options.integer("threshold")),
        share_(options.number("share")) {}

  std::uint32_t pick(const dooly::sdk::RouterView& view, const dooly::sdk::RequestView& request) override {
    const std::uint32_t replicas = view.replicas();
    if (replicas == 1) return 0;
    const auto border = std::clamp(static_cast<std::uint32_t>(share_ * replicas), 1U, replicas - 1);
    return request.prompt <= threshold_ ? fewest_tokens(view, 0, border) : fewest_tokens(view, border, replicas);
  }
  Needs needs() const override { return Needs::kCounts; }

 private:
  static std::uint32_t fewest_tokens(const dooly::sdk::RouterView& view, std::uint32_t begin, std::uint32_t end) {
    std::uint32_t best = begin;
    std::uint64_t fewest = view.signal(begin).tokens;
    for (std::uint32_t replica = begin + 1; replica < end; ++replica) {
      const std::uint64_t tokens = view.signal(replica).tokens;
      if (tokens >= fewest) continue;
      fewest = tokens;
      best = replica;
    }
    return best;
  }

  std::int64_t threshold_;
  double share_;
};
