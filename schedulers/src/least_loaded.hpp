#pragma once

#include "dooly/sdk/router.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// The replica with the fewest unfinished requests; the lowest number among equals.
class LeastRequests final : public sdk::RouterPolicy {
 public:
  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView&) override { return view.fewest_requests(); }
  Needs needs() const override { return Needs::kCounts; }
};

/// The replica with the fewest tokens of unfinished requests (prompts, and outputs where granted); the lowest number
/// among equals.
class LeastTokens final : public sdk::RouterPolicy {
 public:
  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView&) override { return view.fewest_tokens(); }
  Needs needs() const override { return Needs::kCounts; }
};

}  // namespace dooly::schedulers
