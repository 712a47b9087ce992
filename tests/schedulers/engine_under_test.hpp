#pragma once

#include "checked_policy.hpp"

#include "dooly/sdk/policy.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace dooly::test {

struct TestRequest {
  std::uint32_t prompt = 1;
  std::uint32_t output = 1;
  std::int32_t priority = 0;
  std::uint32_t arrival_step = 0;
  std::uint32_t unknown_lookups = 0;
  std::uint32_t shared_prefix = 0;  ///< leading prompt tokens that every request has in common
  bool loads = false;               ///< its prompt comes from another replica
  std::uint32_t abort_after = 0;    ///< steps after its arrival; 0: never
};

struct TestSettings {
  const char* name = "";
  sdk::Limits limits;
  std::uint32_t blocks = 0;
  bool asynchronous = false;
  bool loads = false;  ///< some requests load their prompt; only the real engine can
};

/// An engine that the contract suite drives, with the policy behind a CheckedPolicy.
class EngineUnderTest {
 public:
  virtual ~EngineUnderTest() = default;
  virtual void add(std::uint32_t number, const TestRequest& request) = 0;
  virtual void abort(std::uint32_t number) = 0;
  /// One step; the tokens scheduled. Numbers of finished requests are appended to `finished`.
  virtual std::uint32_t step(std::vector<std::uint32_t>& finished) = 0;
  virtual bool is_idle() const = 0;
  virtual std::uint32_t blocks_held() const = 0;  ///< 0 when idle
  virtual CheckedPolicy& checked() = 0;
};

std::unique_ptr<EngineUnderTest> make_fake_engine(const TestSettings& settings, sdk::SchedulerPolicy& policy);
std::unique_ptr<EngineUnderTest> make_real_engine(const TestSettings& settings, sdk::SchedulerPolicy& policy);

}  // namespace dooly::test
