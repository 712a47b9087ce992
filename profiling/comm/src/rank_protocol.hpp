#pragma once

#include "profiling_comm/rank_group.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

// What a rank is asked and answers, a line each:
//   id                                        id HEX            (first rank: the group's name)
//   join HEX                                  done
//   buffers SEND RECEIVE                      done
//   prepare KIND DTYPE BYTES MODE LAUNCHES    captured | launched
//   run REPETITIONS                           times CLOCK POWER TEMPERATURE SECONDS…
//   quit                                      (ends)
// Whatever goes wrong: `memory WHAT` or `error WHAT`.

std::string prepare_question(const CommWork& work);
/// Of the words behind "prepare"; the ranks are not among them.
CommWork parse_prepare(std::string_view words, std::uint32_t ranks);

struct RankTimes {
  DeviceReading reading;
  std::vector<double> seconds;
};
std::string times_answer(const RankTimes& times);
/// Throws std::runtime_error for any other answer.
RankTimes parse_times(const std::string& answer);

/// For each repetition the time of the slowest rank. Throws std::runtime_error if the ranks did not repeat equally.
std::vector<double> slowest(const std::vector<RankTimes>& ranks);

std::string hex_of(std::string_view bytes);
std::string bytes_of_hex(std::string_view hex);

}  // namespace dooly::profiling
