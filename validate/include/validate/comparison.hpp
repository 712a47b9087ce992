#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::validate {

enum class Unit : std::uint8_t { kSeconds, kTokens, kPerSecond, kPlain };

/// How a series is drawn: distributions of both sides, or each pair as a point.
enum class Plot : std::uint8_t { kNone, kCdf, kScatter };

/// Measured and predicted values of one quantity, pair by pair (of one request, one iteration, one operating point).
/// Times are seconds.
struct Series {
  std::string name;  ///< GROUP.QUANTITY, e.g. "requests.ttft": what tables show and bounds name
  Unit unit = Unit::kSeconds;
  Plot plot = Plot::kNone;
  std::vector<double> measured = {};
  std::vector<double> predicted = {};

  /// Pairs of which one side is not a number are left out.
  void add(double measured_value, double predicted_value);
};

/// Things that should be equal one by one, e.g. scheduling decisions.
struct Tally {
  std::string name;  ///< as of a series
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
  std::string first_difference = {};  ///< empty: none
};

/// What one validation found: the table, in order.
struct Comparison {
  std::vector<Series> series = {};
  std::vector<Tally> tallies = {};
  std::vector<std::string> notes = {};  ///< what was left out and why; what a reader must know
  std::string source = {};              ///< who answered: oracle and its environments

  /// The series of that name; made if there is none. Valid until the next one is made.
  Series& of(std::string_view name, Unit unit = Unit::kSeconds, Plot plot = Plot::kNone);
  Tally& tally(std::string_view name);
};

}  // namespace dooly::validate
