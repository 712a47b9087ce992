// Loads whatever it is given: a scenario, in which lines `#set KEY=VALUE` are overrides. It must be refused with a
// message, or load and come back equal from `explain`.
#include "random_scenario.hpp"
#include "scenarios/write.hpp"
#include "schema.hpp"
#include "test_files.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace dooly::scenario;

constexpr std::string_view kSet = "#set ";

std::vector<std::string> overrides_of(std::string_view text) {
  std::vector<std::string> overrides;
  for (std::size_t at = 0; at < text.size() && overrides.size() < 20;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kSet)) overrides.emplace_back(line.substr(kSet.size()));
    at = end + 1;
  }
  return overrides;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// Where one value of the text begins and ends: behind a colon, up to a comma, bracket or line end.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Span random_value(const std::string& text, std::mt19937_64& random) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(':', random() % text.size());
  if (colon == std::string::npos) return {text.size(), text.size()};
  return {colon + 1, std::min(text.find_first_of(",}]\n", colon + 1), text.size())};
}

const Key& random_key(std::mt19937_64& random) {
  const Object& object = schema()[random() % schema().size()];
  return object.keys[random() % object.keys.size()];
}

std::string random_word(std::mt19937_64& random) {
  const Key& key = random_key(random);
  if (!key.allowed.empty() && random() % 2) return std::string(key.allowed[random() % key.allowed.size()]);
  if (!key.fallback.empty() && random() % 2) return std::string(key.fallback);
  constexpr const char* kWords[] = {"0",    "-1",    "1e9", "null", "default", "yes", "{}",          "[]",     "1s",
                                    "20/s", "1GB/s", "h.0", "'x'",  "main",    "2",   "numbers.txt", "[1, 2]", "~"};
  return kWords[random() % std::size(kWords)];
}

void mutate(std::string& text, std::mt19937_64& random) {
  const Span span = random_value(text, random);
  switch (random() % 7) {
    case 0: text = test::RandomScenario(random(), 0.02).text(); break;
    case 1: text.replace(span.begin, span.end - span.begin, " " + random_word(random)); break;
    case 2: text.insert(span.end, ", " + std::string(random_key(random).name) + ": " + random_word(random)); break;
    case 3: text += "\n" + std::string(random_key(random).name) + ": " + random_word(random) + "\n"; break;
    case 4: {
      text += "\n#set ";
      for (std::uint64_t steps = 1 + random() % 4; steps > 0; --steps)
        text.append(random_key(random).name).append(steps > 1 ? "." : "=");
      text += random_word(random) + "\n";
      break;
    }
    case 5: text.erase(span.begin, span.end - span.begin); break;
    default: {  // one value in another's place
      const Span from = random_value(text, random);
      const std::string copy = text.substr(from.begin, from.end - from.begin);
      text.replace(span.begin, span.end - span.begin, copy);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Scenario scenario = test::load(text, overrides_of(text));
    const std::string written = explain(scenario);
    if (!(test::load(written) == scenario)) fail("explain differs:\n" + written);
  } catch (const ScenarioError& error) {
    if (error.messages().empty()) fail("refused without a message");
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937_64 random(seed);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (std::uint64_t times = 1 + random() % 3; times > 0; --times) mutate(text, random);
  const std::size_t length = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), length);
  return length;
}
