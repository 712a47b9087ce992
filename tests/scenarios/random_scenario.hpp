#pragma once

#include "schema.hpp"

#include <cstdint>
#include <random>
#include <string>

namespace dooly::scenario::test {

/// Text that the schema table allows, at random; what only cross-checks refuse is left to chance. `wildness` (0 to 1)
/// is the share of values that are broken on purpose.
class RandomScenario {
 public:
  RandomScenario(std::uint64_t seed, double wildness) : random_(seed), wildness_(wildness) {}

  std::string text();

 private:
  std::string object(const Object& object, int depth);
  std::string value(const Key& key, int depth);
  std::string list(const Key& key, int depth);
  std::string scalar(const Key& key);
  std::string integer(const Key& key);
  std::string broken();
  bool wanted(const Object& object, const Key& key, const std::string& chosen);

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(double share) { return static_cast<double>(random_() >> 11) * 0x1p-53 < share; }

  std::mt19937_64 random_;
  double wildness_;
};

}  // namespace dooly::scenario::test
