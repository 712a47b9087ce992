#pragma once

#include "dooly/sdk/policy.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace dooly::test {

/// "vllm-v1" and "static" are the built-in ones. "capped" lets only a few requests run and answers short horizons.
/// "by-hand" decides what vllm-v1 decides (first come, first served) but allocates and schedules each request itself;
/// it needs output lengths. "random" takes any legal action, drawn from `seed` and reproducible for equal views.
std::unique_ptr<sdk::SchedulerPolicy> make_test_policy(std::string_view name, std::uint64_t seed);

}  // namespace dooly::test
