#pragma once

#include "dooly/sdk/router.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// One replica after the other, whatever their load.
class RoundRobin final : public sdk::RouterPolicy {
 public:
  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView&) override {
    if (next_ >= view.replicas()) next_ = 0;
    return next_++;
  }
  Needs needs() const override { return Needs::kNothing; }

 private:
  std::uint32_t next_ = 0;
};

}  // namespace dooly::schedulers
