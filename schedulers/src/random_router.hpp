#pragma once

#include "dooly/sdk/router.hpp"

#include <cstdint>

namespace dooly::schedulers {

/// Any replica, each as likely as the others.
class RandomRouter final : public sdk::RouterPolicy {
 public:
  std::uint32_t pick(const sdk::RouterView& view, const sdk::RequestView&) override {
    return view.random_below(view.replicas());
  }
  Needs needs() const override { return Needs::kNothing; }
};

}  // namespace dooly::schedulers
